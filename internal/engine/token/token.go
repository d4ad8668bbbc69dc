// Package token contains the type tokens of the program's resources, by which plans and states are read. A token is part of the
// identity of a resource: another token means another resource. Pure.
package token

import "strings"

// The components of this project.
const (
	TalosTemplate = "em-infra:index:TalosTemplate"
	TalosNode     = "em-infra:index:TalosNode"
	GPUWorker     = "em-infra:index:GpuWorker"
	TalosCluster  = "em-infra:index:TalosCluster"
	ClusterAddons = "em-infra:index:ClusterAddons"
	ProxmoxHost   = "em-infra:index:ProxmoxHost"

	// StandaloneMachine and StandaloneContainer are no nodes of a cluster.
	StandaloneMachine   = "em-infra:index:VirtualMachine"
	StandaloneContainer = "em-infra:index:Container"
	TrueNASStorage      = "em-infra:index:TrueNASStorage"
	TrueNASDataset      = "em-infra:index:TrueNASDataset"
)

// The resources of providers.
const (
	VirtualMachine = "proxmoxve:VM/virtualMachine:VirtualMachine"
	Container      = "proxmoxve:CT/container:Container"
	PCIMapping     = "proxmoxve:Hardware/mapping/pci:Pci"
	USBMapping     = "proxmoxve:Hardware/mapping/usb:Usb"
	Pool           = "proxmoxve:Permission/pool:Pool"
	DNS            = "proxmoxve:index/dNS:DNS"
	Secrets        = "talos:machine/secrets:Secrets"
	Configuration  = "talos:machine/configurationApply:ConfigurationApply"
	Bootstrap      = "talos:machine/bootstrap:Bootstrap"
	Kubeconfig     = "talos:cluster/kubeconfig:Kubeconfig"
	Schematic      = "talos:imageFactory/schematic:Schematic"
	Command        = "command:local:Command"
	Release        = "kubernetes:helm.sh/v3:Release"
	Dataset        = "truenas:index:Dataset"
	NFSShare       = "truenas:index:NfsShare"
	ISCSIPortal    = "truenas:index:IscsiPortal"
	// ISCSIInitiatorGroup is who may log in to iSCSI.
	ISCSIInitiatorGroup = "truenas:index:IscsiInitiatorGroup"
	Service             = "truenas:index:Service"
	Account             = "truenas:index:Account"
	// ProxmoxProvider is the provider of Proxmox VE itself.
	ProxmoxProvider = providers + "proxmoxve"
	// TrueNASProvider is the provider of TrueNAS itself.
	TrueNASProvider = providers + "truenas"
)

// What the types of a provider's resources begin with: the name of its package.
const (
	OfProxmox    = "proxmoxve:"
	OfTalos      = "talos:"
	OfTrueNAS    = "truenas:"
	OfCommand    = "command:"
	OfKubernetes = "kubernetes:"
)

// providers is what the types of providers themselves begin with.
const providers = "pulumi:providers:"

// IsProvider reports whether a type is that of a provider itself.
func IsProvider(kind string) bool { return strings.HasPrefix(kind, providers) }

// IsKubernetes reports whether a type is that of an object in a cluster, which the provider of Kubernetes has made.
func IsKubernetes(kind string) bool { return strings.HasPrefix(kind, OfKubernetes) }

// IsTrueNAS reports whether a type is that of something on a TrueNAS box.
func IsTrueNAS(kind string) bool { return strings.HasPrefix(kind, OfTrueNAS) }

// IsAbstract reports whether a type has no counterpart outside the engine: a component, a provider or the stack.
func IsAbstract(kind string) bool {
	return strings.HasPrefix(kind, "em-infra:") || strings.HasPrefix(kind, "pulumi:")
}
