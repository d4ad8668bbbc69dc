package versions

// Traits are the properties of a cluster that a minor release may treat differently.
type Traits struct {
	// DevicePlugin is whether NVIDIA's device plugin is installed as an addon.
	DevicePlugin bool
	// OwnManifests is whether patches contain inline or extra manifests.
	OwnManifests bool
	// OneFamilyOfNameservers is whether a dual-stack network has nameservers of one IP family only.
	OneFamilyOfNameservers bool
	// InstallerImage is whether patches name an installer image that the Image Factory does not serve.
	InstallerImage bool
	// EtcdFirewall is whether patches contain a firewall rule for etcd's client port.
	EtcdFirewall bool
	// TLSSettings is whether patches set TLS versions or cipher suites of etcd or kube-apiserver.
	TLSSettings bool
}

// Change is what a minor release of Talos does differently from the one before.
type Change struct {
	// Name of the change, unique.
	Name string `json:"name"`
	// Since is the first minor release with it.
	Since Minor `json:"since"`
	// Says is what it means for the cluster, as a sentence that ends with what to do.
	Says string `json:"says"`
	// Source of the fact.
	Source string `json:"source"`

	bites func(Traits) bool
}

// changes is the table, by release. The change of the wire form of resources does not depend on a cluster's traits: it concerns every client.
var changes = []Change{
	{
		Name: "nvidia-cdi", Since: Minor{1, 13}, Source: "siderolabs/docs v1.13, upgrading-talos, NVIDIA GPU users",
		Says:  "from Talos v1.13 on, addons.gpu installs NVIDIA's gpu-operator, which offers GPUs by CDI, instead of the device plugin and the RuntimeClass nvidia: remove addons.gpu and run up before the nodes are upgraded, and put it back after it",
		bites: func(t Traits) bool { return t.DevicePlugin },
	},
	{
		Name: "manifests-pruned", Since: Minor{1, 13}, Source: "siderolabs/talos v1.13.9, CHANGELOG.md, Kubernetes server-side apply",
		Says:  "from Talos v1.13 on, an inline or extra manifest that leaves talos.patches is deleted from the cluster, too: keep those whose objects are to stay",
		bites: func(t Traits) bool { return t.OwnManifests },
	},
	{
		Name: "nameservers-replaced", Since: Minor{1, 13}, Source: "siderolabs/talos v1.13.9, CHANGELOG.md, ResolverConfig",
		Says:  "from Talos v1.13 on, network.nameservers replace those of DHCP and the defaults in both IP families: name one of each family that the nodes need",
		bites: func(t Traits) bool { return t.OneFamilyOfNameservers },
	},
	{
		Name: "extra-args-on-the-wire", Since: Minor{1, 13}, Source: "siderolabs/talos v1.13.9, CHANGELOG.md, Extra Arguments accept slices in addition to strings",
		Says:  "from Talos v1.13 on, clients of v1.12 cannot read EtcdConfigs, KubeletConfigs, APIServerConfigs, ControllerManagerConfigs and SchedulerConfigs: use those of v1.13",
		bites: func(Traits) bool { return true },
	},
	{
		Name: "installer-of-the-factory", Since: Minor{1, 14}, Source: "siderolabs/talos v1.14.0-rc.1, CHANGELOG.md, Default Installer Image",
		Says:  "ghcr.io/siderolabs/installer is not published for Talos v1.14: remove machine.install.image from the patches, em-infra names the Image Factory's",
		bites: func(t Traits) bool { return t.InstallerImage },
	},
	{
		Name: "etcd-http-port", Since: Minor{1, 14}, Source: "siderolabs/talos v1.14.0-rc.1, CHANGELOG.md, etcd",
		Says:  "etcd of Talos v1.14 serves /metrics and /health on port 2383 instead of 2379: open or close that port, too, in the firewall rules of the patches, and scrape it there",
		bites: func(t Traits) bool { return t.EtcdFirewall },
	},
	{
		Name: "tls-1.3", Since: Minor{1, 14}, Source: "siderolabs/talos v1.14.0-rc.1, CHANGELOG.md, TLS 1.3 Minimum Version",
		Says:  "etcd and kube-apiserver of Talos v1.14 accept TLS 1.3 only and ignore cipher suites: remove these settings from the patches, and look for clients that are older",
		bites: func(t Traits) bool { return t.TLSSettings },
	},
}

// Changes returns what a step between two minor releases of Talos means for a cluster with these traits, in the order of the
// releases; empty within a minor release and on the way back.
func Changes(from, to Minor, traits Traits) []Change {
	var biting []Change
	for _, change := range changes {
		if change.Since.Compare(from) > 0 && change.Since.Compare(to) <= 0 && change.bites(traits) {
			biting = append(biting, change)
		}
	}
	return biting
}
