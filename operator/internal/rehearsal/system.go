package rehearsal

import "context"

// System is the stack that is rehearsed, with its host.
type System interface {
	// Scale writes nodes.yaml: the stack's own, or the one with an additional worker.
	Scale(more bool) error
	// Preflight checks whether the host can run what the inventory describes. summary contains the numbers of results; the error
	// contains the failed checks.
	Preflight(ctx context.Context) (summary string, err error)
	// Up, Preview and Destroy run the engine and return its changes, without unchanged resources.
	Up(ctx context.Context) ([]Change, error)
	Preview(ctx context.Context) ([]Change, error)
	Destroy(ctx context.Context) ([]Change, error)
	// Nodes returns the Nodes in the cluster's Kubernetes API.
	Nodes(ctx context.Context) ([]Node, error)
	// Host returns the machines and files of the host.
	Host(ctx context.Context) (Host, error)
	// Writes returns the calls so far that may have changed the host, such as "POST /nodes/vmhost/qemu", in their order.
	Writes() ([]string, error)
}

// Operation is an operation on a resource.
type Operation string

// The engine's operations; a replacement is one change, not two.
const (
	Create  Operation = "create"
	Update  Operation = "update"
	Replace Operation = "replace"
	Delete  Operation = "delete"
)

// Change is an operation on one resource.
type Change struct {
	Operation Operation
	// Resource is the resource's name.
	Resource string
}

// Node is a Kubernetes Node.
type Node struct {
	Name  string
	Ready bool
}

// Host contains the machines and files of a host, or of a cluster of hosts.
type Host struct {
	Machines []Machine
	// Files are the volumes of all storages, such as "tank:vm-101-disk-0".
	Files []File
}

// Machine is a VM.
type Machine struct {
	VMID     int
	Name     string
	Node     string
	Running  bool
	Template bool
}

// File is a volume.
type File struct {
	ID string
	// ISO reports whether the file is an ISO image. These stay on purpose: a machine with one of them in its drive could not start
	// without it.
	ISO bool
}
