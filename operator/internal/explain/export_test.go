package explain

import "strings"

// Names returns the names of all rows, in their order.
func Names() []string {
	names := make([]string, len(table))
	for i, r := range table {
		names[i] = r.name
	}
	return names
}

// Matching returns the names of all rows that match a line of a text, including those after the first match.
func Matching(raw string) []string {
	var names []string
	for _, r := range table {
		for line := range strings.Lines(raw) {
			if r.pattern().MatchString(line) {
				names = append(names, r.name)
				break
			}
		}
	}
	return names
}
