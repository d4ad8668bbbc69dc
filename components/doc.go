// Package components is the library: Talos Linux clusters on Proxmox VE as Pulumi component resources.
//
// It takes typed arguments and reads no file, no environment and no stack configuration, so programs with another inventory can
// use it. It creates:
//
//	TalosTemplate                 the machine that nodes are cloned from
//	├── imagefactory.Schematic    what is built into the Talos image
//	├── local.Command             the ISO on the host
//	└── vm.VirtualMachine         the template
//	TalosCluster
//	├── machine.Secrets           the cluster's PKI and tokens
//	├── TalosNode                 one for each machine
//	│   ├── vm.VirtualMachine     the clone
//	│   └── machine.ConfigurationApply
//	├── GpuWorker                 one for each machine with GPUs
//	│   ├── mapping.Pci           one for each GPU that is given by its address
//	│   ├── imagefactory.Schematic    the template's, and the driver
//	│   └── TalosNode
//	├── local.Command             one for each node: its membership; waits until its secure API answers, and drains it when it goes
//	├── machine.Bootstrap         etcd, on the first control plane, once
//	└── cluster.Kubeconfig
//	ClusterAddons
//	├── local.Command             the Kubernetes API answers; the nodes are Ready; each GPU is offered
//	├── kubernetes.Provider       with the cluster's kubeconfig
//	├── helm.sh/v3 Release        one for each chart
//	└── Namespace, Secret, RuntimeClass, GitRepository or OCIRepository, Kustomization
//
// For machines that are no nodes, for hosts and for storage it has:
//
//	VirtualMachine                a machine from an image or an ISO
//	└── vm.VirtualMachine
//	Container                     a container from a template
//	└── ct.Container
//	ProxmoxHost                   what hosts have: pools, networks, storages, options, mapped devices, access, tokens
//	└── local.Command, proxmoxve.DNS, mapping.Pci, mapping.Usb
//	TrueNASStorage                what is on a NAS: services, shares, iSCSI objects
//	└── TrueNASDataset            one for each dataset
//
// NewPool creates the resource pool of the machines, unless it exists.
//
// The comment of each field says what a change of it does: nothing, a change in place, a reboot of the machine, or its
// replacement. The package's example is a whole program.
//
// Its Commands call the tool em-infra: the executable that EM_INFRA names in the environment of the engine. Without it they compile the
// tool, which works in a module that has it: run `go get -tool github.com/em-infra/em-infra/cmd/em-infra` in yours, since what your
// packages import is not all that the tool needs.
//
// The providers proxmoxve, talos and command are given to the top components with pulumi.Providers and inherited.
package components
