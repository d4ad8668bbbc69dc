package explain

// Names of all rows, in their order.
func Names() []string {
	names := make([]string, len(table))
	for i, r := range table {
		names[i] = r.name
	}
	return names
}
