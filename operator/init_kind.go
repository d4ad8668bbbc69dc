package operator

import (
	"cmp"
	"fmt"
)

// ofNoUseFor are the flags of `em-infra init` that have no meaning for a kind of stacks.
var ofNoUseFor = map[Kind][]string{
	KindPlatform: nil,
	KindHosts: {
		"cluster", "bridge", "vlan", "network", "gateway", "first-address", "control-planes", "workers", "gpu-workers", "iso-storage", "disk-storage", "image-factory",
		"nas", "nas-fingerprint", "nas-pool", "nas-key-file",
	},
	KindSystems: {"cluster", "control-planes", "workers", "gpu-workers", "iso-storage", "image-factory", "nas", "nas-fingerprint", "nas-pool", "nas-key-file"},
}

// CheckInitKind returns an error if a new stack cannot be of a kind, or if a flag of `em-infra init` is given that has no meaning for the kind;
// the error names the first one. [Init] checks the answers itself; a program with such flags calls this before it asks a person for the rest.
func CheckInitKind(kind Kind, given func(flag string) bool) error {
	meaningless, known := ofNoUseFor[kind]
	if !known {
		return fmt.Errorf("--kind: %q is no kind of stacks: choose platform, hosts or systems", string(kind))
	}
	for _, flag := range meaningless {
		if given(flag) {
			return fmt.Errorf("--%s has no meaning for --kind %s: leave it out", flag, kind)
		}
	}
	return nil
}

// checkKind checks the answers. The URL of the Image Factory and the API key of the NAS are not answers: a program may give them for stacks of
// all kinds.
func (o InitOptions) checkKind() error {
	a := o.Answers
	given := map[string]bool{
		"cluster": a.Cluster != "", "bridge": a.Bridge != "", "vlan": a.VLAN != 0, "network": a.Network.IsValid(), "gateway": a.Gateway.IsValid(),
		"first-address": a.FirstAddress.IsValid(), "control-planes": a.ControlPlanes != 0, "workers": a.Workers != nil, "gpu-workers": a.GPUWorkers != 0,
		"iso-storage": a.ISOStorage != "", "disk-storage": a.DiskStorage != "",
		"nas": a.NAS.Endpoint != "", "nas-fingerprint": a.NAS.Fingerprint != "", "nas-pool": a.NAS.Pool != "",
	}
	return CheckInitKind(cmp.Or(a.Kind, KindPlatform), func(flag string) bool { return given[flag] })
}
