// Package drift compares the inventory with what runs.
package drift

// Difference is a property that differs from the inventory.
type Difference struct {
	// Subject is what differs: a node, or a resource of the host.
	Subject string `json:"subject"`
	// Property is the path of the property.
	Property string `json:"property"`
	// Want and Have are both values; empty for one that is absent. Secrets are replaced.
	Want string `json:"want"`
	// Have is what was found; empty where there is nothing.
	Have string `json:"have"`
}
