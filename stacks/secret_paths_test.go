package stacks_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/stacks"
)

// lacking finds the paths that a run misses.
var lacking = regexp.MustCompile(`lacks (\S+) `)

// TestSecretPathsAreThoseThatARunAsksFor, so a new file has a place for each.
func TestSecretPathsAreThoseThatARunAsksFor(t *testing.T) { //nolint:paralleltest // operator sets the environment
	operator(t)
	for addons, want := range map[string][]string{
		"  kubeletServingCertApprover: {}\n": {},
		"  flux: {gitRepository: {url: \"ssh://git@git.example/cluster\", secretRef: git}}\n  truenas: {host: nas.example}\n": {"git.identity", "git.knownHosts", "truenas.apiKey"},
		"  flux: {gitRepository: {url: \"https://git.example/cluster\", secretRef: git}}\n":                                   {"git.username", "git.password"},
		"  flux: {gitRepository: {url: \"https://git.example/cluster\"}}\n":                                                   {},
		"  flux: {ociRepository: {url: \"oci://registry.example/cluster\", secretRef: registry}}\n":                           {"oci.dockerConfigJson"},
	} {
		options := withAddons(t, addons)
		inv, err := inventory.Load(options.Inventory)
		require.NoError(t, err)
		require.Equal(t, want, stacks.SecretPaths(inv.Cluster))
		asked := []string{}
		if _, err := runWith(t, options, reachable(nil)); err != nil {
			for _, match := range lacking.FindAllStringSubmatch(err.Error(), -1) {
				asked = append(asked, match[1])
			}
		}
		require.Equal(t, want, asked)
	}
	options := withBackup(t, "s3://backups?region=eu-central-1")
	inv, err := inventory.Load(options.Inventory)
	require.NoError(t, err)
	require.Equal(t, []string{"etcdBackup.accessKeyId", "etcdBackup.secretAccessKey"}, stacks.SecretPaths(inv.Cluster))
}

func TestTheEnvironmentWinsAndAnEmptyValueIsNone(t *testing.T) {
	home, key := operator(t), sopstest.NewKey(t)
	t.Setenv(secrets.KeyFileVariable, write(t, filepath.Join(home, "keys.txt"), key.String()+"\n"))
	options := withAddons(t, "  truenas: {host: nas.example}\n")
	write(t, filepath.Join(options.Inventory, secrets.File), sopstest.Encrypt(t, "truenas: {apiKey: \"\"}\n", key))
	_, err := runWith(t, options, reachable(nil))
	require.ErrorContains(t, err, "addons.truenas: lacks truenas.apiKey (it is neither in secrets.sops.yaml nor in the stack's configuration)")

	t.Setenv("EM_INFRA_TRUENAS_API_KEY", "from the environment")
	r, err := runWith(t, options, reachable(map[string]string{"em-infra:truenasApiKey": "from the configuration"}))
	require.NoError(t, err)
	require.Equal(t, "from the environment", dataOf(t, r, "truenas-api")["apiKey"])
}
