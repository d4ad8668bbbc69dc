package rehearsal

import "context"

// System is the stack that is rehearsed, with the host that it stands on.
type System interface {
	// Scale puts nodes.yaml in place: the stack's own, or the one with a worker more.
	Scale(more bool) error
	// Preflight asks the host whether it can bear the inventory. summary counts the checks; the error says which failed.
	Preflight(ctx context.Context) (summary string, err error)
	// Up, Preview and Destroy run the engine and return what it changed, or would change. Things that stay are none.
	Up(ctx context.Context) ([]Change, error)
	Preview(ctx context.Context) ([]Change, error)
	Destroy(ctx context.Context) ([]Change, error)
	// Nodes are the Nodes that the cluster's Kubernetes API lists.
	Nodes(ctx context.Context) ([]Node, error)
	// Host is what stands on the host.
	Host(ctx context.Context) (Host, error)
	// Writes are the calls so far that may have changed the host, such as "POST /nodes/vmhost/qemu", in their order.
	Writes() ([]string, error)
}

// Operation is what is done to a resource.
type Operation string

// The operations that the engine knows; a replacement is one change, not two.
const (
	Create  Operation = "create"
	Update  Operation = "update"
	Replace Operation = "replace"
	Delete  Operation = "delete"
)

// Change is what is done to one resource.
type Change struct {
	Operation Operation
	// Resource is the resource's name.
	Resource string
}

// Node is a Node of Kubernetes.
type Node struct {
	Name  string
	Ready bool
}

// Host is what stands on a host, or a cluster of them.
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
	// ISO says that it is an image for a drive. Those are meant to stay: a machine that names one would not start
	// without it.
	ISO bool
}
