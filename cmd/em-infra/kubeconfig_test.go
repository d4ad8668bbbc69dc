package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestAKubeconfigIsMerged: shown, put into a person's own, and taken out again.
func TestAKubeconfigIsMerged(t *testing.T) {
	root := project(t)
	require.Equal(t, refusal("stack k3s-dev has no kubeconfig: `em-infra up --stack k3s-dev` makes the cluster and writes it to .credentials/k3s-dev/kubeconfig"),
		em(t.Context(), "kubeconfig", "k3s-dev"))
	file := filepath.Join(root, ".credentials", "k3s-dev", "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"lab": {Server: "https://192.168.20.10:6443"}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin@lab": {Token: "made up"}},
		Contexts:       map[string]*clientcmdapi.Context{"lab": {Cluster: "lab", AuthInfo: "admin@lab"}},
		CurrentContext: "lab",
	}, file))
	require.Equal(t, outcome{out: ".credentials/k3s-dev/kubeconfig\n"}, em(t.Context(), "kubeconfig", "k3s-dev"))

	own := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", own)
	require.Equal(t, outcome{out: own + " has nothing of this stack\n"}, em(t.Context(), "kubeconfig", "k3s-dev", "--unmerge"))
	require.Equal(t, outcome{out: own + ": context lab\nnext: kubectl --context lab get nodes\n"}, em(t.Context(), "kubeconfig", "k3s-dev", "--merge"))
	require.Equal(t, outcome{out: own + " has context lab already, as it is now\n"}, em(t.Context(), "kubeconfig", "k3s-dev", "--merge"))
	require.Equal(t, outcome{out: own + ".before-em-infra: a copy as it was before\n" + own + ": context lab is the current one\n"}, em(t.Context(), "kubeconfig", "k3s-dev", "--merge", "--use"))
	require.Equal(t, outcome{out: own + ": what --merge had put there is removed\n"}, em(t.Context(), "kubeconfig", "k3s-dev", "--unmerge"))

	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("contexts:\n- name: lab\n  context: {cluster: mine, user: me}\n"), 0o600))
	require.Equal(t, refusal(other+": context lab is there already, and is not of this stack: rename or remove it, "+
		"unmerge the stack that has put it there, or name another file with --file"), em(t.Context(), "kubeconfig", "k3s-dev", "--merge", "--file", other))

	require.Equal(t, refusal("--merge and --unmerge: which of the two is meant? give one"), em(t.Context(), "kubeconfig", "k3s-dev", "--merge", "--unmerge"))
	require.Equal(t, refusal("--file and --use are for --merge: add it, or leave them out"), em(t.Context(), "kubeconfig", "k3s-dev", "--use"))
	require.NoError(t, os.WriteFile(file, []byte("secret: ["), 0o600))
	broken := em(t.Context(), "kubeconfig", "k3s-dev", "--merge")
	require.Equal(t, ".credentials/k3s-dev/kubeconfig cannot be read as a kubeconfig: `em-infra up --stack k3s-dev` writes it anew\n", broken.err)
}
