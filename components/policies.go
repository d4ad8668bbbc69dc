package components

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/machine"
)

// Policies are resource options with a reason. They are values so that a test can name them.

// clonedMachine: a new template never changes a running node (F3), so the machine's template, its first ISO and its birth identifier are ignored
// after creation. A replaced machine is made with the values of the program (docs/decisions/0132). A VMID, an address and a disk cannot exist
// twice, so a replacement deletes the old machine first.
//
// Changes of the cloud-init drive are applied, since Talos reads it at every boot. Three of its properties are ignored. For another storage or
// another slot, the provider would shut the machine down and create another drive. For other name servers, it would reboot the machine although
// those of the configuration replace them.
func clonedMachine(disks int) pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges(append([]string{"cdrom", "clone", "initialization.datastoreId", "initialization.interface", "initialization.dns", "smbios"}, speedLimits(disks)...)),
		pulumi.DeleteBeforeReplace(true),
	)
}

// unaskedAgent ignores the time limit of an agent that is off. A machine from an earlier release has another limit in its
// state, and the provider reboots a machine for that difference alone.
func unaskedAgent(s Schematic) pulumi.ResourceOption {
	if s.hasGuestAgent() {
		return pulumi.Composite()
	}
	return pulumi.IgnoreChanges([]string{"agent.timeout"})
}

// templateMachine: a template keeps its VMID across versions, so the old one is deleted before the new one is created. For another ISO the provider
// would only change the drive; another image has to be another template, which the preview shows. A change of firmware or TPM replaces the template
// anyway (F21). The provider reads every drive back as not enabled, regardless of what was written (F22).
func templateMachine() pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges(append([]string{"cdrom.enabled"}, speedLimits(1)...)),
		pulumi.ReplaceOnChanges([]string{"cdrom.fileId"}),
		pulumi.DeleteBeforeReplace(true),
	)
}

// speedLimits returns the speed limits of disks: the provider sends zeros and reads none back, which would be a difference in
// every preview (F22). Its bridge supports no wildcard in a path.
func speedLimits(disks int) []string {
	paths := make([]string, disks)
	for i := range paths {
		paths[i] = fmt.Sprintf("disks[%d].speed", i)
	}
	return paths
}

// replacedBySchematic replaces the resource: the provider would change it in place, and it would keep the ID of the first
// schematic. Nothing is deleted in the Image Factory.
func replacedBySchematic() pulumi.ResourceOption {
	return pulumi.ReplaceOnChanges([]string{"schematic"})
}

// keptISO: a machine whose CD-ROM names a deleted ISO does not start again, so the file outlives the template (F16).
func keptISO() pulumi.ResourceOption {
	return pulumi.RetainOnDelete(true)
}

// bootstrappedOnce: etcd is bootstrapped once in the life of a cluster, on the control plane that was the first at that time. When
// that one is removed, the provider would bootstrap another one.
func bootstrappedOnce() pulumi.ResourceOption {
	return pulumi.IgnoreChanges([]string{"node", "endpoint"})
}

// fixedContract: the contract is fixed when the cluster is created. A lower version would make the provider replace the
// secrets, and with them the cluster's whole PKI (F2).
func fixedContract() pulumi.ResourceOption {
	return pulumi.IgnoreChanges([]string{"talosVersion"})
}

// signedBy replaces a kubeconfig when the Kubernetes CA changes, since the old one is then useless. If the state does not
// contain the CA yet, nothing is replaced.
func signedBy(secrets *machine.Secrets) pulumi.ResourceOption {
	authority := secrets.MachineSecrets.Certs().K8s().Cert().ApplyT(func(certificate string) string {
		sum := sha256.Sum256([]byte(certificate))
		return hex.EncodeToString(sum[:])
	})
	return pulumi.ReplacementTrigger(pulumi.Unsecret(authority))
}

// replacedWith replaces a resource that acts on a machine together with the machine, since a new machine is in maintenance
// mode. When the machine is deleted, the resource needs no deletion of its own.
//
// It is deleted before the machine, and never again: without DeleteBeforeReplace, the engine would delete it a second time if the
// machine in its place could not be made at first (pulumi pkg/v3 v3.254.0, step_generator.go, generateStepsFromDiff).
func replacedWith(machine pulumi.Resource) pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.DeleteBeforeReplace(true),
		pulumi.DependsOn([]pulumi.Resource{machine}),
		pulumi.ReplaceWith([]pulumi.Resource{machine}),
		pulumi.DeletedWith(machine),
	)
}

// memberOf: before a machine is replaced or deleted, its node leaves the cluster; a replaced one joins again. When the whole
// cluster is deleted, nothing is drained and no API has to answer (F24, F26). It leaves once: see [replacedWith]; a second deletion would
// remove the new node, which has its name.
func memberOf(cluster, machine pulumi.Resource) pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.DeleteBeforeReplace(true),
		pulumi.DependsOn([]pulumi.Resource{machine}),
		pulumi.ReplaceWith([]pulumi.Resource{machine}),
		pulumi.DeletedWith(cluster),
	)
}

// childOf makes a resource a child of the cluster, with the machine's own protection if it is set; otherwise the cluster's is
// inherited.
func (m Machine) childOf(c *TalosCluster) pulumi.ResourceOption {
	if !m.Protect {
		return pulumi.Parent(c)
	}
	return pulumi.Composite(pulumi.Parent(c), pulumi.Protect(true))
}

// within: objects in a cluster are deleted with it, without a call to its API (F26).
func within(cluster *TalosCluster) pulumi.ResourceOption {
	return pulumi.DeletedWith(cluster)
}

// handedOver: a release that is handed to Flux is installed, and then neither changed nor deleted by this program (F30).
func handedOver() pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges([]string{"chart", "version", "repositoryOpts", "values", "timeout", "atomic", "replace"}),
		pulumi.RetainOnDelete(true),
	)
}
