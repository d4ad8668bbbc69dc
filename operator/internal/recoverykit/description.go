package recoverykit

import "time"

// Description is what a kit contains and what it was made of. It is in the kit, and beside it in clear, so it has no secret.
type Description struct {
	// Stack is the name of the stack.
	Stack string `json:"stack"`
	// Cluster is the name of the cluster.
	Cluster string `json:"cluster"`
	// Made is when, to the second.
	Made time.Time `json:"made"`
	// Talos is the release in the inventory, e.g. v1.12.4.
	Talos string `json:"talos"`
	// Kubernetes is the version in the inventory, e.g. v1.35.4.
	Kubernetes string `json:"kubernetes"`
	// Tool is the version of em-infra that made the kit.
	Tool string `json:"tool"`
	// CA is the SHA-256 of the certificate of the CA of the Talos API, in hexadecimal.
	CA string `json:"ca"`
	// Secrets is the SHA-256 of the machine secrets, in hexadecimal: a kit with another one is older than the secrets.
	Secrets string `json:"secrets"`
	// SealedFor are the age keys that open the kit, age1…; empty if the passphrase of the stack does.
	SealedFor []string `json:"sealedFor,omitempty"`
	// Repository is the URL of the repository that the project was cloned from, without a user; empty if it is not known or on this
	// machine.
	Repository string `json:"repository,omitempty"`
	// Commit is what was checked out of it, e.g. 544e8d6d5e25…; empty if it is not known.
	Commit string `json:"commit,omitempty"`
	// Backend is the bucket of the state, a URL as the stack's file has it; empty if the state is in a folder of the machine.
	Backend string `json:"backend,omitempty"`
	// State is the name of the copy of the state in the kit.
	State string `json:"state"`
	// Snapshot is the name of the snapshot of etcd in the kit; empty if there is none.
	Snapshot string `json:"snapshot,omitempty"`
	// SnapshotTaken is when the snapshot was taken.
	SnapshotTaken time.Time `json:"snapshotTaken,omitzero"`
}

// The files in a kit. Those of the inventory, the state and etcd are in folders of these names.
const (
	Page            = "README.md"
	DescriptionFile = "kit.json"
	MachineSecrets  = "secrets.yaml"
	Talosconfig     = "talosconfig"
	Passphrase      = "passphrase" //nolint:gosec // the name of a file
	InventoryFolder = "inventory"
	ProjectFolder   = "project"
	StateFolder     = "state"
	EtcdFolder      = "etcd"
)
