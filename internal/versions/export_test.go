package versions

// AskedKubernetes is what the machinery alone says.
var AskedKubernetes = askedKubernetes

// OwnLines returns the minor releases of Talos whose ranges this package has itself.
func OwnLines() []Minor {
	var own []Minor
	for _, known := range releases {
		if known.supports != (Range{}) {
			own = append(own, known.latest.Minor())
		}
	}
	return own
}

// ChangeNames returns the names of all changes in the table.
func ChangeNames() []string {
	var names []string
	for _, change := range changes {
		names = append(names, change.Name)
	}
	return names
}
