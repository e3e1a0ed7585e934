SET threads = {threads};
SET preserve_insertion_order = false;

-- The names of the timers, from as many decisions as DuckDB itself reads to find
-- columns. With records = true it does not read them to find columns first.
SET VARIABLE timers = (
  SELECT string_agg(DISTINCT name || ' BIGINT', ', ')
  FROM (
    SELECT unnest(map_keys(metrics)) AS name
    FROM (FROM read_json('{file}', format = 'newline_delimited', records = true, columns = {metrics: 'MAP(VARCHAR, JSON)'}) LIMIT 20480)
  )
  WHERE regexp_matches(name, '^timer_\w+_ns$')
);

-- Some paths begin with a slash, and a timer that was not stopped is 0. The
-- quantile 1 is the maximum. The exact quantile_disc takes less time than
-- approx_quantile, histogram, and counts in buckets. reservoir_quantile takes a
-- tenth less in all, but of its sample only eight values are above p99.9.
SELECT path, {
    quantiles: quantile_disc(COLUMNS('^timer_(.*)_ns$'), [0.5, 0.9, 0.95, 0.99, 0.999, 1]),
    sum: sum(COLUMNS('^timer_(.*)_ns$'))
  } AS '\1'
FROM (
  SELECT CASE WHEN starts_with(path, '/') THEN path[2:] ELSE path END AS path,
    nullif(COLUMNS('^timer_(.*)_ns$'), 0) AS '\0'
  FROM (
    SELECT path, unnest(metrics)
    FROM read_json('{file}', format = 'newline_delimited', records = true,
      columns = {path: 'VARCHAR', metrics: 'STRUCT(' || getvariable('timers') || ')'})
  )
)
GROUP BY ALL;
