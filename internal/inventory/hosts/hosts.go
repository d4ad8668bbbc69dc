package hosts

import "github.com/em-infra/em-infra/internal/inventory/manifest"

// KindHosts is the kind in the header of the file.
const KindHosts = "Hosts"

// File is hosts.yaml: what hosts of one Proxmox VE have before anything runs on them.
type File struct {
	// Header names the format of the file.
	manifest.Header `yaml:",inline"`
	// Name of the stack's resources: a DNS-1123 label, and a prefix of their names in the state. Required. A change creates all of them
	// anew in the state.
	Name string `yaml:"name" required:"true"`
	// Protect forbids the deletion of everything in the stack until it is false again. Default: false.
	Protect bool `yaml:"protect"`
	// Hosts are the nodes of Proxmox VE that the stack configures. Required.
	Hosts []Host `yaml:"hosts" required:"true" min:"1" max:"32"`
	// Pools are resource pools that are made unless they exist. Default: none.
	Pools []Pool `yaml:"pools" max:"256"`
}

// Host is one node of Proxmox VE.
type Host struct {
	// Name of the node, as Proxmox VE shows it. Required.
	Name string `yaml:"name" required:"true"`
}

// Pool is a resource pool. A pool that exists is used as it is; one that was made here is deleted with the stack once it has no members.
type Pool struct {
	// Name of the pool: up to three levels with / between them. Required. A change makes another pool.
	Name string `yaml:"name" required:"true"`
}
