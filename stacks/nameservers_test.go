package stacks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/stacks"
)

// dnsOf returns the nameservers of a node's first boot.
func dnsOf(t *testing.T, options stacks.Options, config map[string]string) (any, error) {
	t.Helper()
	e, err := runWith(t, options, reachable(config))
	if err != nil {
		require.Empty(t, e.Resources)
		return nil, err
	}
	inputs := e.Named(t, tokenVM, "k3s-dev-control-1-vm").Inputs
	return inputs[resource.PropertyKey("initialization")].ObjectValue()["dns"].ObjectValue()["servers"].Mappable(), nil
}

// TestANameserverOfAnotherStack: the program reads its address from the inventory of that stack. A rehearsal, whose folder has a Pulumi.yaml of
// its own, finds the same stack, and moves the address with the network.
func TestANameserverOfAnotherStack(t *testing.T) {
	t.Parallel()
	dir := edited(t, "cluster.yaml", "nameservers: [192.168.20.1]", "nameservers: [site-systems/pihole, 192.168.20.1]")
	servers, err := dnsOf(t, stacks.Options{Root: "..", Inventory: dir}, nil)
	require.NoError(t, err)
	require.Equal(t, []any{"192.168.20.5", "192.168.20.1"}, servers)
	servers, err = dnsOf(t, stacks.Options{Root: "..", Inventory: dir}, map[string]string{"em-infra:labNetwork": "127.20.20.0/24"})
	require.NoError(t, err)
	require.Equal(t, []any{"127.20.20.5", "127.20.20.1"}, servers)

	root := projectBeside(t)
	rehearsal := filepath.Join(root, ".lab", "k3s-dev")
	servers, err = dnsOf(t, stacks.Options{Root: rehearsal, Inventory: dir}, nil)
	require.NoError(t, err)
	require.Equal(t, []any{"192.168.20.5", "192.168.20.1"}, servers)
}

// projectBeside returns a project with the stack site-systems, and a rehearsal of k3s-dev.
func projectBeside(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "stacks", "site-systems"), os.DirFS("site-systems")))
	for path, text := range map[string]string{
		"Pulumi.yaml": "name: em-infra\nruntime: go\n", ".lab/k3s-dev/Pulumi.yaml": "name: em-infra\nruntime: go\n", "Pulumi.site-systems.yaml": "config: {}\n",
	} {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// TestANameserverThatIsNotThere is refused before any resource is registered.
func TestANameserverThatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := edited(t, "cluster.yaml", "nameservers: [192.168.20.1]", "nameservers: [site-systems/bastion]")
	_, err := dnsOf(t, stacks.Options{Root: "..", Inventory: dir}, nil)
	require.ErrorContains(t, err, dir+"/cluster.yaml:21: network.nameservers[0]: names a system that stack site-systems does not have (got site-systems/bastion): "+
		"name one of its systems, or write the address of the server")
}
