package explain

import "strings"

// Names of all rows, in their order.
func Names() []string {
	names := make([]string, len(table))
	for i, r := range table {
		names[i] = r.name
	}
	return names
}

// Matching are the names of all rows that know a line of a text, also of those that come too late to be taken.
func Matching(raw string) []string {
	var names []string
	for _, r := range table {
		for line := range strings.Lines(raw) {
			if r.pattern.MatchString(line) {
				names = append(names, r.name)
				break
			}
		}
	}
	return names
}
