// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// What a dashboard of this repository may be, by the types that Grafana
// publishes under the Apache License 2.0. The JSON schema beside this file is made
// from it:
//
//	npm install @grafana/schema@11.6.16 ts-json-schema-generator@2.4.0 typescript@5
//	npx ts-json-schema-generator --path dashboard.schema.ts --type Dashboard --no-type-check --jsDoc none --minify -o dashboard.schema.json
import * as raw from '@grafana/schema/dist/esm/raw/dashboard/x/dashboard_types.gen';
import * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import * as heatmap from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';

// Panels leave out what has a default.
type Defaults<T> = { [K in keyof T]?: T[K] };
type Datasource = { type: string; uid: string };

// The query of the data source Prometheus, which is not in the package: by
// pkg/promlib/models/query.go of Grafana 11.
interface Target {
  refId: string;
  datasource: Datasource;
  expr: string;
  legendFormat?: string;
  format?: 'time_series' | 'table' | 'heatmap';
  interval?: string;
  instant?: boolean;
  range?: boolean;
}

interface FieldConfig<C> {
  defaults: Omit<raw.FieldConfig, 'custom'> & { custom?: Defaults<C> };
  overrides: raw.FieldConfigSource['overrides'];
}

interface PanelOf<Type, Options, Custom> extends Omit<raw.Panel, 'type' | 'options' | 'fieldConfig' | 'targets' | 'gridPos' | 'id' | 'title'> {
  id: number;
  type: Type;
  title: string;
  gridPos: raw.GridPos;
  targets: Target[];
  options: Defaults<Options>;
  fieldConfig: FieldConfig<Custom>;
}

interface Row extends Omit<raw.RowPanel, 'panels' | 'collapsed'> {
  collapsed?: boolean;
  panels?: AnyPanel[];
}

type AnyPanel =
  | PanelOf<'stat', stat.Options, {}>
  | PanelOf<'timeseries', timeseries.Options, timeseries.FieldConfig>
  | PanelOf<'heatmap', Omit<heatmap.Options, 'color'> & { color?: Defaults<heatmap.HeatmapColorOptions> }, heatmap.FieldConfig>
  | PanelOf<'table', table.Options, table.FieldConfig>;

// What only annotations of Prometheus have.
interface Annotation extends raw.AnnotationQuery {
  expr: string;
  step: string;
  titleFormat: string;
  textFormat: string;
  useValueForTime: boolean;
}

export interface Dashboard extends Omit<raw.Dashboard, 'panels' | 'annotations'> {
  panels: (AnyPanel | Row)[];
  annotations: { list: Annotation[] };
  // What a dashboard has that is exported for others.
  __inputs: { name: string; label: string; description: string; type: 'datasource'; pluginId: string; pluginName: string }[];
  __requires: { type: 'grafana' | 'datasource' | 'panel'; id: string; name: string; version: string }[];
}
