package proxmox

import (
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// OperatorRole is the name of the documented role.
const OperatorRole = "EmInfraOperator"

// operatorPrivileges are those that every release knows. Each group names what for.
var operatorPrivileges = []string{
	// Reading hosts, their PCI devices and their tasks; with Sys.Modify it also allows downloads from a URL.
	"Sys.Audit",
	// download-url and query-url-metadata, where the host knows no finer privilege; startup order; host network.
	"Sys.Modify",
	"Sys.AccessNetwork",
	// Reading storages, disks of VMs, and ISO files.
	"Datastore.Audit",
	"Datastore.AllocateSpace",
	"Datastore.AllocateTemplate",
	// Deleting ISO files.
	"Datastore.Allocate",
	// VMs: existence, cloning, settings by group, power.
	"VM.Allocate",
	"VM.Audit",
	"VM.Clone",
	"VM.Migrate",
	"VM.Config.CDROM",
	"VM.Config.CPU",
	"VM.Config.Cloudinit",
	"VM.Config.Disk",
	"VM.Config.HWType",
	"VM.Config.Memory",
	"VM.Config.Network",
	"VM.Config.Options",
	"VM.PowerMgmt",
	// Plugging a VM into a bridge.
	"SDN.Use",
	// Resource mappings of GPUs.
	"Mapping.Audit",
	"Mapping.Modify",
	"Mapping.Use",
	// Pools.
	"Pool.Allocate",
	"Pool.Audit",
}

// OperatorPrivileges lists the privileges of the role that the project documents: what the methods that the provider
// calls ask for, and no more. Asking the guest agent takes one privilege until 8.4 and another one from 9 on.
func OperatorPrivileges(release schema.Release) []string {
	agent := "VM.GuestAgent.Audit"
	if release == schema.Release84 {
		agent = "VM.Monitor"
	}

	return append(slices.Clone(operatorPrivileges), agent)
}
