# A search through some thousand numbers: slow to evaluate, with a result that
# is not a boolean.
package catalog

matches := count([n |
	some n in numbers.range(1, input.size)
	n % input.divisor == 0
])
