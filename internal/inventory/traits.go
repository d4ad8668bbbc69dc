package inventory

import (
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/types/network"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/em-infra/em-infra/internal/versions"
)

// Versions returns the versions that the cluster is to run.
func (i *Inventory) Versions() versions.State {
	return versions.State{Talos: i.Cluster.Talos.Version.Version, Kubernetes: i.Cluster.Kubernetes.Version.Version.Version}
}

// Traits returns the properties of the cluster that a minor release of Talos may treat differently.
func (i *Inventory) Traits() versions.Traits {
	gpu := i.Cluster.Addons.GPU
	traits := versions.Traits{DevicePlugin: gpu != nil, OneFamilyOfNameservers: i.Cluster.Network.lacksNameservers()}
	patches := slices.Clone(i.Cluster.Talos.Patches)
	for _, node := range i.Nodes {
		patches = append(patches, node.Patches...)
	}
	for _, patch := range patches {
		addTraits(&traits, patch)
	}
	return traits
}

// lacksNameservers reports whether one of two IP families has no nameserver.
func (n Network) lacksNameservers() bool {
	has := map[bool]bool{}
	for _, server := range n.NameserverAddresses() {
		has[server.Is4()] = true
	}
	return n.CIDR6.IsValid() && len(has) == 1
}

// addTraits adds what one patch sets.
func addTraits(traits *versions.Traits, patch Patch) {
	loaded, err := configpatcher.LoadPatch([]byte(patch))
	if err != nil {
		return // the loader refuses the inventory because of it
	}
	merge, isMerge := loaded.(configpatcher.StrategicMergePatch)
	if !isMerge {
		return // likewise
	}
	for _, document := range merge.Provider().Documents() {
		switch part := document.(type) {
		case *v1alpha1.Config:
			addLegacyTraits(traits, part)
		case *network.RuleConfigV1Alpha1:
			traits.EtcdFirewall = traits.EtcdFirewall || slices.ContainsFunc(part.PortSelector.Ports, holdsEtcd)
		}
	}
}

// etcdClientPort is the port at which etcd serves its clients.
const etcdClientPort = 2379

func holdsEtcd(ports network.PortRange) bool {
	return ports.Lo <= etcdClientPort && etcdClientPort <= ports.Hi
}

// addLegacyTraits adds what the document of all older settings sets.
func addLegacyTraits(traits *versions.Traits, part *v1alpha1.Config) {
	if machine := part.MachineConfig; machine != nil && machine.MachineInstall != nil {
		image := machine.MachineInstall.InstallImage
		traits.InstallerImage = traits.InstallerImage || strings.HasPrefix(image, unpublishedInstaller)
	}
	cluster := part.ClusterConfig
	if cluster == nil {
		return
	}
	traits.OwnManifests = traits.OwnManifests || len(cluster.ClusterInlineManifests)+len(cluster.ExtraManifests) > 0
	if etcd := cluster.EtcdConfig; etcd != nil {
		traits.TLSSettings = traits.TLSSettings || setsTLS(etcd.EtcdExtraArgs)
	}
	if server := cluster.APIServerConfig; server != nil {
		traits.TLSSettings = traits.TLSSettings || setsTLS(server.ExtraArgsConfig)
	}
}

// unpublishedInstaller is the image that Talos releases before v1.14 were published as.
const unpublishedInstaller = "ghcr.io/siderolabs/installer"

// setsTLS reports whether arguments of etcd or kube-apiserver choose TLS versions or cipher suites.
func setsTLS(arguments map[string]string) bool {
	for _, name := range []string{"cipher-suites", "tls-min-version", "tls-max-version", "tls-cipher-suites"} {
		if _, given := arguments[name]; given {
			return true
		}
	}
	return false
}
