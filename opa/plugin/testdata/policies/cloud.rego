# asked: cloud/policy/decision
package cloud.policy

# The form of policies with a rule for the allowed, and one for all reasons.
decision := {"effect": "permit"} if count(reasons) == 0
else := {"effect": "deny", "reasons": reasons}

reasons contains "the region is not permitted" if not input.region in regions

reasons contains "the budget is used up" if input.cost > budget

regions := {"eu-central-1", "eu-west-1"}

budget := data.budgets[input.account]
