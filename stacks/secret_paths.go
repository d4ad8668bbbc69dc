package stacks

import (
	"net/url"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
)

// SecretPaths returns the paths in secrets.sops.yaml of the secrets that addons and the storage need, in the order in which a run asks
// for them.
func SecretPaths(cluster inventory.Cluster) []string {
	var needed []key
	addons := cluster.Addons
	if flux := addons.Flux; flux != nil {
		if git := flux.GitRepository; git != nil && git.SecretRef != "" {
			needed = append(needed, gitKeys(git.URL)...)
		}
		if oci := flux.OCIRepository; oci != nil && oci.SecretRef != "" {
			needed = append(needed, dockerConfig)
		}
	}
	if addons.TrueNAS != nil || cluster.Storage != nil {
		needed = append(needed, truenasAPIKey)
	}
	if addons.EtcdBackup != nil {
		needed = append(needed, backupAccessKeyID, backupSecretAccessKey)
	}
	paths := make([]string, len(needed))
	for i, each := range needed {
		paths[i] = each.path
	}
	return paths
}

// HostSecretPaths is SecretPaths for a stack of hosts.
func HostSecretPaths(inv *hosts.Inventory) []string {
	var paths []string
	for _, needed := range hostSecrets(inv) {
		paths = append(paths, needed.path)
	}
	return paths
}

// gitKeys are the keys for a repository, by the scheme of its URL.
func gitKeys(location string) []key {
	if parsed, err := url.Parse(location); err == nil && parsed.Scheme == "ssh" { // the loader has checked it
		return []key{gitIdentity, gitKnownHosts}
	}
	return []key{gitUsername, gitPassword}
}
