package risk

// RuleNames returns the names of all rules, for the test that each has one of its own.
func RuleNames() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}
