package graph

// NAS is what a cluster has on a NAS.
type NAS struct {
	// Name is the NAS's name or address.
	Name string
	// Pool is the pool that holds the datasets.
	Pool string
	// Things are the datasets, and where its services listen.
	Things []Thing
}

func (n NAS) label() string { return "NAS " + n.Name }

// group returns the group of what a cluster has there. The label of the cluster is empty in its own picture.
func (n NAS) group(cluster, class string) group {
	label := "pool " + n.Pool
	if cluster != "" {
		label = cluster + " · " + label
	}
	drawn := groupOf(label, n.Things)
	drawn.class = class
	return drawn
}
