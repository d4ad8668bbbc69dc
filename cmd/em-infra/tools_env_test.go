package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

func TestPrintToolsEnv(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &workspace.Workspace{Stack: "k3s-dev", Home: "/clone/.pulumi-home", Backend: "file:///clone of mine/.state"}
	tools := &toolchain.Installed{Tools: []toolchain.Tool{{Name: "pulumi", Kind: toolchain.CLI, Path: "/cache/pulumi/bin/pulumi"}}}
	require.NoError(t, printToolsEnv(&out, tools, w, "/gone/bin/em-infra"))
	require.Equal(t, `export PATH=/cache/pulumi/bin:/gone/bin:"$PATH"
export EM_INFRA=/gone/bin/em-infra
export PULUMI_BACKEND_URL='file:///clone of mine/.state'
export PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true
export PULUMI_HOME=/clone/.pulumi-home
export PULUMI_IGNORE_AMBIENT_PLUGINS=true
export PULUMI_SKIP_UPDATE_CHECK=true
export PULUMI_STACK=k3s-dev
`, out.String())
	require.EqualError(t, printToolsEnv(&out, &toolchain.Installed{}, w, ""), "the tool chain holds no Pulumi CLI: run `em-infra tools install`")
}

// TestAPulumiThatIsNotThere: after a message that names pulumi, the tool prints how to get it.
func TestAPulumiThatIsNotThere(t *testing.T) {
	writeFile(t, filepath.Join(project(t), "Pulumi.k3s-dev.yaml"), "config: {}\n")
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", "made up")
	const sentence = "Pulumi.k3s-dev.yaml holds no Proxmox API token: run `pulumi config set --stack k3s-dev --secret em-infra:proxmoxToken " +
		"'USER@REALM!NAME=SECRET'`, or add --lab to rehearse without"
	require.Equal(t, refusal(sentence), em(t.Context(), "preview", "--stack", "k3s-dev"), "this shell has one")
	t.Setenv("PATH", "")
	require.Equal(t, refusal(sentence+"\npulumi is not on PATH here: `eval \"$(em-infra tools env --stack k3s-dev)\"` puts it there"),
		em(t.Context(), "preview", "--stack", "k3s-dev"))
	require.Equal(t, refusal("no stack is named: add --stack NAME, e.g. --stack k3s-dev"), em(t.Context(), "preview"))
}
