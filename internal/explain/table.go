package explain

import (
	"regexp"
	"slices"
)

// table holds what is known, the special before the general.
var table = slices.Concat(locks, machines, permissions, storages, devices, hosts, downloads, nodes, etcdMembers, kubernetes, engine, general)

// Who says things.
const (
	proxmox  = "Proxmox"
	provider = "the provider"
	talos    = "Talos"
	cluster  = "Kubernetes"
	pulumi   = "the engine"
	program  = "em-infra"
	helm     = "Helm"
)

// What is the same for many.
const (
	goesOn     = "yes: nothing was left half done; up goes on from here"
	upAgain    = "run `em-infra up` again"
	notTouched = "yes: nothing was changed"
)

func saying(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }
