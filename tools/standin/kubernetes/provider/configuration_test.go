package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/provider"
)

const providerURN = "urn:pulumi:test::em-infra::pulumi:providers:kubernetes::cluster"

// kubeconfig returns a kubeconfig with this server and user.
func kubeconfig(server, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %q}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: home}}]
current-context: x
`, server, user)
}

const noServer = "https://127.0.0.1:1"

func TestConfigureSaysThatItIsAStandIn(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.configure(map[string]any{"kubeconfig": kubeconfig(noServer, "a")})
	require.Equal(t, []string{provider.Notice}, h.engine.lasting())
}

func TestConfigureSaysThatItTakesTheAmbientKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere/kubeconfig")
	h := start(t)
	h.configure(nil)
	require.Len(t, h.engine.lasting(), 2)
	require.True(t, contains(h.engine.lasting(), "it uses the one of the environment"))
	_, err := h.create(configMap, "a", object("v1", "ConfigMap", map[string]any{"name": "a"}, nil))
	require.ErrorContains(t, err, "configured Kubernetes cluster is unreachable: unable to load ")
}

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		inputs map[string]any
		want   []string
	}{
		"all that is served": {map[string]any{
			"kubeconfig": "x", "namespace": "n", "deleteUnreachable": true, "enableServerSideApply": true,
			"clusterIdentifier": "c", "helmReleaseSettings": map[string]any{"driver": "memory"}, "version": "4.30.0",
		}, []string{}},
		"no such input": {map[string]any{"kubeConfig": "x"}, []string{
			"kubeConfig: the provider kubernetes has no such input: take it away",
		}},
		"YAML": {map[string]any{"renderYamlToDirectory": "out"}, []string{
			"renderYamlToDirectory: the stand-in renders no YAML: take it away, or use the official provider",
		}},
		"client-side apply": {map[string]any{"enableServerSideApply": "false"}, []string{
			"enableServerSideApply: the stand-in knows server-side apply alone: leave it on, or use the official provider",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t)
			response, err := h.CheckConfig(t.Context(), &pulumirpc.CheckRequest{Urn: providerURN, News: h.wire(props(tc.inputs))})
			require.NoError(t, err)
			got := []string{}
			for _, failure := range response.GetFailures() {
				got = append(got, failure.GetProperty()+": "+failure.GetReason())
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestDiffConfig: another cluster replaces the provider and all its resources; other credentials do not.
func TestDiffConfig(t *testing.T) {
	t.Parallel()
	here, there := kubeconfig(noServer, "a"), kubeconfig("https://127.0.0.1:2", "a")
	unknown := resource.MakeComputed(resource.NewProperty(""))
	for name, tc := range map[string]struct {
		olds, news      map[string]any
		diffs, replaces []string
	}{
		"nothing":          {map[string]any{"kubeconfig": here}, map[string]any{"kubeconfig": here}, nil, nil},
		"credentials":      {map[string]any{"kubeconfig": here}, map[string]any{"kubeconfig": kubeconfig(noServer, "b")}, []string{"kubeconfig"}, nil},
		"another cluster":  {map[string]any{"kubeconfig": here}, map[string]any{"kubeconfig": there}, []string{"kubeconfig"}, []string{"kubeconfig"}},
		"not known yet":    {map[string]any{"kubeconfig": here}, map[string]any{"kubeconfig": unknown}, []string{"kubeconfig"}, []string{"kubeconfig"}},
		"a switch":         {map[string]any{"kubeconfig": here}, map[string]any{"kubeconfig": here, "enablePatchForce": true}, []string{"enablePatchForce"}, nil},
		"the identifier":   {map[string]any{"clusterIdentifier": "a"}, map[string]any{"clusterIdentifier": "b"}, []string{"clusterIdentifier"}, []string{"clusterIdentifier"}},
		"a new identifier": {map[string]any{"kubeconfig": here}, map[string]any{"kubeconfig": here, "clusterIdentifier": "b"}, []string{"clusterIdentifier"}, nil},
		"unknown but the same": {
			map[string]any{"kubeconfig": here, "clusterIdentifier": "a"},
			map[string]any{"kubeconfig": unknown, "clusterIdentifier": "a"}, []string{"kubeconfig"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t)
			response, err := h.DiffConfig(t.Context(), &pulumirpc.DiffRequest{
				Urn: providerURN, Olds: h.wire(props(tc.olds)), News: h.wire(props(tc.news)),
			})
			require.NoError(t, err)
			require.Equal(t, tc.diffs, response.GetDiffs())
			require.Equal(t, tc.replaces, response.GetReplaces())
		})
	}
}

const advice = "rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE environment variable set to \"true\""

// TestUnreachable: previews still work, changes fail, and objects are removed from the state only on request.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.configure(map[string]any{"kubeconfig": kubeconfig(noServer, "a")})
	inputs := object("v1", "ConfigMap", map[string]any{"name": "a"}, nil)
	checked := h.check(urn(configMap, "a"), inputs, nil)
	require.Equal(t, "home", checked["metadata"].ObjectValue()["namespace"].StringValue(), "of the kubeconfig's context")

	preview, err := h.Create(t.Context(), &pulumirpc.CreateRequest{
		Urn: urn(configMap, "a"), Properties: h.wire(checked), Preview: true,
	})
	require.NoError(t, err)
	require.Equal(t, checked, h.read(preview.GetProperties()))

	const why = "configured Kubernetes cluster is unreachable: unable to load schema information from the API server: "
	m, err := h.create(configMap, "a", inputs)
	require.ErrorContains(t, err, why)
	m.id, m.state = "home/a", checked.Copy()
	m.state["__inputs"] = resource.NewProperty(checked)
	require.ErrorContains(t, m.update(object("v1", "ConfigMap", map[string]any{"name": "a"}, map[string]any{
		"data": map[string]any{"a": "b"},
	})), why)
	require.ErrorContains(t, m.delete(), advice)
	_, err = h.Read(t.Context(), &pulumirpc.ReadRequest{Urn: m.urn, Id: m.id, Properties: h.wire(m.state), Inputs: h.wire(m.inputs)})
	require.ErrorContains(t, err, advice)

	h.configure(map[string]any{"kubeconfig": kubeconfig(noServer, "a"), "deleteUnreachable": "true"})
	require.False(t, m.refresh())
	require.NoError(t, m.delete())
	require.True(t, contains(h.engine.lasting(), "Deleting the unreachable resource from Pulumi state"))
}

func TestReleasesOfAnUnreachableCluster(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.configure(map[string]any{"kubeconfig": kubeconfig(noServer, "a"), "deleteUnreachable": true})
	m, err := h.create(helmRelease, "a", props(map[string]any{"chart": newChart(t, "1.0.0"), "name": "a"}))
	require.ErrorContains(t, err, "can't create Helm Release with unreachable cluster: unable to load schema information")
	m.id, m.state = "home/a", m.inputs
	require.ErrorContains(t, m.update(props(map[string]any{"chart": newChart(t, "1.1.0"), "name": "a"})),
		"can't update Helm Release with unreachable cluster: ")
	require.ErrorContains(t, m.delete(), "can't delete Helm Release with unreachable cluster. Reason: ",
		"even with deleteUnreachable; a refresh removes it")
	require.False(t, m.refresh())
}

func TestUnreadableKubeconfig(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.configure(map[string]any{"kubeconfig": "clusters: {"})
	_, err := h.create(configMap, "a", object("v1", "ConfigMap", map[string]any{"name": "a"}, nil))
	require.ErrorContains(t, err, "failed to parse kubeconfig data in `kubernetes:config:kubeconfig`- ")
	require.False(t, strings.Contains(err.Error(), "\n\n"))
}
