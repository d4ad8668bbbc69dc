package operator_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/stacks"
)

// TestTheTokenMayBeElsewhere: in the environment, or in secrets.sops.yaml, whose error is passed on if it cannot be opened.
func TestTheTokenMayBeElsewhere(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "Pulumi.home.yaml"), []byte("config: {}\n"), 0o600))
	o := operator.In(operator.Options{}, &workspace.Workspace{Stack: "home", Root: folder, Dir: folder, Inventory: folder}, nil, time.Now)
	t.Chdir(folder)
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", "made up")
	t.Setenv(stacks.TokenVariable, "")
	const missing = "Pulumi.home.yaml holds no Proxmox API token: run `pulumi config set --stack home --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, or add --lab to rehearse without"
	require.EqualError(t, o.CheckSecrets(t.Context()), missing)

	key := sopstest.NewKey(t)
	write := func(plain string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "secrets.sops.yaml"), []byte(sopstest.Encrypt(t, plain, key)), 0o600))
	}
	write("proxmox: {apiToken: \"\"}\n")
	t.Setenv("SOPS_AGE_KEY", key.String())
	require.EqualError(t, o.CheckSecrets(t.Context()), missing, "an empty value is none")
	write("proxmox: {apiToken: \"em-infra@pve!home=made-up\"}\n")
	require.NoError(t, o.CheckSecrets(t.Context()))
	token, place, err := o.ProxmoxToken(t.Context())
	require.NoError(t, err)
	require.Equal(t, "em-infra@pve!home=made-up", token)
	require.Equal(t, stacks.TokenInSecrets, place)

	t.Setenv("SOPS_AGE_KEY", sopstest.NewKey(t).String())
	require.ErrorContains(t, o.CheckSecrets(t.Context()), "secrets.sops.yaml")
	t.Setenv(stacks.TokenVariable, "em-infra@pve!ci=made-up")
	require.NoError(t, o.CheckSecrets(t.Context()), "the file is not read")
}
