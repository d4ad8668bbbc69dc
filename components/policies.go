package components

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/machine"
)

// Policies are resource options with a reason. They are values so that a test can name them.

// clonedMachine: a new template never touches a running node (F3), so what the machine was cloned from and first booted from
// are facts of its birth, as is the mark that it was given. A VMID, an address and a disk cannot exist twice, so a
// replacement is deleted first.
//
// The cloud-init drive follows, since Talos reads it at every boot, and what is ignored stays as it was even for a machine
// that is replaced. What does not: its storage and its place, for which the provider would shut the machine down and make
// another drive, and the name servers, for which it would reboot it, although those of the configuration replace them.
func clonedMachine(disks int) pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges(append([]string{"cdrom", "clone", "initialization.datastoreId", "initialization.interface", "initialization.dns", "smbios"}, neverSet(disks)...)),
		pulumi.DeleteBeforeReplace(true),
	)
}

// unaskedAgent ignores the time limit of an agent that is off. A machine from an earlier release has another limit in its state,
// and the provider reboots a machine for that difference alone.
func unaskedAgent(s Schematic) pulumi.ResourceOption {
	if s.hasGuestAgent() {
		return pulumi.Composite()
	}
	return pulumi.IgnoreChanges([]string{"agent.timeout"})
}

// templateMachine keeps its VMID across versions, so the old one goes before the new one comes. The provider would put
// another ISO into the drive of a template that stays; another image is another template, and a preview says so. A change
// of firmware or TPM replaces it as it is (F21). The provider reads back that no drive is enabled, whatever was written
// (F22).
func templateMachine() pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges(append([]string{"cdrom.enabled"}, neverSet(1)...)),
		pulumi.ReplaceOnChanges([]string{"cdrom.fileId"}),
		pulumi.DeleteBeforeReplace(true),
	)
}

// neverSet are the speed limits of disks: the provider fills zeros in and reads none back, which would be a difference in
// every preview (F22). Its bridge knows no wildcard in a path.
func neverSet(disks int) []string {
	paths := make([]string, disks)
	for i := range paths {
		paths[i] = fmt.Sprintf("disks[%d].speed", i)
	}
	return paths
}

// anotherSchematic: the provider would change a schematic in place, and the resource would keep the ID of the first one for
// ever. Nothing is deleted in the Image Factory.
func anotherSchematic() pulumi.ResourceOption {
	return pulumi.ReplaceOnChanges([]string{"schematic"})
}

// keptISO: a machine whose CD-ROM names a deleted ISO does not start again, so the file outlives the template (F16).
func keptISO() pulumi.ResourceOption {
	return pulumi.RetainOnDelete(true)
}

// bornWith: the contract is a fact of the cluster's birth. A lower version would make the provider replace the secrets,
// and with them the cluster's whole PKI (F2).
func bornWith() pulumi.ResourceOption {
	return pulumi.IgnoreChanges([]string{"talosVersion"})
}

// signedBy: a kubeconfig opens nothing once Kubernetes has another authority. None is replaced whose authority is not in the
// state yet, since nothing is known to differ.
func signedBy(secrets *machine.Secrets) pulumi.ResourceOption {
	authority := secrets.MachineSecrets.Certs().K8s().Cert().ApplyT(func(certificate string) string {
		sum := sha256.Sum256([]byte(certificate))
		return hex.EncodeToString(sum[:])
	})
	return pulumi.ReplacementTrigger(pulumi.Unsecret(authority))
}

// livesWith: what is done to a machine is done again when the machine is another one, since that one is back in
// maintenance mode, and needs no undoing when the machine goes.
func livesWith(machine pulumi.Resource) pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.DependsOn([]pulumi.Resource{machine}),
		pulumi.ReplaceWith([]pulumi.Resource{machine}),
		pulumi.DeletedWith(machine),
	)
}

// memberOf: a machine that is replaced leaves its cluster first and joins it again. One that goes leaves first too; when
// the whole cluster goes, nobody is left to be drained, and no API needs to be alive (F24, F26).
func memberOf(cluster, machine pulumi.Resource) pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.DependsOn([]pulumi.Resource{machine}),
		pulumi.ReplaceWith([]pulumi.Resource{machine}),
		pulumi.DeletedWith(cluster),
	)
}

// childOf parents what belongs to a machine, with the machine's own protection if it has one; without one, the cluster's
// is inherited.
func (m Machine) childOf(c *TalosCluster) pulumi.ResourceOption {
	if !m.Protect {
		return pulumi.Parent(c)
	}
	return pulumi.Composite(pulumi.Parent(c), pulumi.Protect(true))
}

// within: what is in a cluster goes with it, without a call to its API (F26).
func within(cluster *TalosCluster) pulumi.ResourceOption {
	return pulumi.DeletedWith(cluster)
}

// handedOver: a release that somebody else keeps is installed and then left alone, whatever becomes of it here (F30).
func handedOver() pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges([]string{"chart", "version", "repositoryOpts", "values", "timeout", "atomic", "replace"}),
		pulumi.RetainOnDelete(true),
	)
}
