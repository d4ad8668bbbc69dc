package provider_test

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/provider"
)

// engineVariable is the environment variable with the folder of the Pulumi CLI that the tool chain got.
const engineVariable = "EM_INFRA_TEST_PULUMI"

// builtPlugin builds the plugin and installs it into a PULUMI_HOME.
func builtPlugin(t *testing.T, version string) (home string) {
	t.Helper()
	home = t.TempDir()
	dir := filepath.Join(home, "plugins", "resource-kubernetes-v"+version)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version,
		"-o", filepath.Join(dir, "pulumi-resource-kubernetes"), "../plugin")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return home
}

// program is a program with a namespace, and a key and a release in it.
type program struct {
	kubeconfig, namespace, chart, key, greeting string
	// late is true if the kubeconfig is unknown before the first update.
	late bool
}

func (p program) run(ctx *pulumi.Context) error {
	kubeconfig, err := p.lateKubeconfig(ctx)
	if err != nil {
		return err
	}
	var cluster pulumi.ProviderResourceState
	err = ctx.RegisterResource("pulumi:providers:kubernetes", "cluster", pulumi.Map{
		"kubeconfig": pulumi.ToSecret(kubeconfig), "enableSecretMutable": pulumi.Bool(true),
		"clusterIdentifier": pulumi.String("test"),
	}, &cluster)
	if err != nil {
		return err
	}
	by := []pulumi.ResourceOption{pulumi.Provider(&cluster)}
	var space, key, release pulumi.CustomResourceState
	err = ctx.RegisterResource("kubernetes:core/v1:Namespace", "space", pulumi.Map{
		"apiVersion": pulumi.String("v1"), "kind": pulumi.String("Namespace"),
		"metadata": pulumi.Map{"name": pulumi.String(p.namespace)},
	}, &space, by...)
	if err != nil {
		return err
	}
	err = ctx.RegisterResource("kubernetes:core/v1:Secret", "key", pulumi.Map{
		"apiVersion": pulumi.String("v1"), "kind": pulumi.String("Secret"),
		"metadata":   pulumi.Map{"name": pulumi.String("key"), "namespace": space.ID()},
		"stringData": pulumi.Map{"age.agekey": pulumi.ToSecret(pulumi.String(p.key))},
	}, &key, by...)
	if err != nil {
		return err
	}
	return ctx.RegisterResource("kubernetes:helm.sh/v3:Release", "release", pulumi.Map{
		"chart": pulumi.String(p.chart), "name": pulumi.String("demo"), "namespace": space.ID(), "atomic": pulumi.Bool(true),
		"values": pulumi.Map{"greeting": pulumi.String(p.greeting)},
	}, &release, append(by, pulumi.DependsOn([]pulumi.Resource{&key}))...)
}

// lateKubeconfig returns the kubeconfig. With late, it depends on the ID of an object.
func (p program) lateKubeconfig(ctx *pulumi.Context) (pulumi.StringInput, error) {
	if !p.late {
		return pulumi.String(p.kubeconfig), nil
	}
	var first pulumi.ProviderResourceState
	err := ctx.RegisterResource("pulumi:providers:kubernetes", "first", pulumi.Map{
		"kubeconfig": pulumi.ToSecret(pulumi.String(p.kubeconfig)),
	}, &first)
	if err != nil {
		return nil, err
	}
	var before pulumi.CustomResourceState
	err = ctx.RegisterResource("kubernetes:core/v1:ConfigMap", "before", pulumi.Map{
		"apiVersion": pulumi.String("v1"), "kind": pulumi.String("ConfigMap"), "metadata": pulumi.Map{},
	}, &before, pulumi.Provider(&first))
	return before.ID().ApplyT(func(pulumi.ID) string { return p.kubeconfig }).(pulumi.StringOutput), err
}

// newStack returns a stack with its state in the folder backend. It uses the CLI and the plugin that were built.
func newStack(t *testing.T, backend string, p *program) auto.Stack {
	t.Helper()
	root := os.Getenv(engineVariable)
	if root == "" {
		t.Skipf("%s names no Pulumi CLI: run go test ./tests/modules in the root module", engineVariable)
	}
	cli, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: root, SkipVersionCheck: true})
	require.NoError(t, err)
	_, version := sdkOf(t)
	stack, err := auto.UpsertStackInlineSource(t.Context(), "test", "standin",
		func(ctx *pulumi.Context) error { return p.run(ctx) },
		auto.Pulumi(cli), auto.PulumiHome(builtPlugin(t, version)), auto.EnvVars(map[string]string{
			"PULUMI_BACKEND_URL": "file://" + backend, "PULUMI_CONFIG_PASSPHRASE": "test",
			"PULUMI_IGNORE_AMBIENT_PLUGINS": "true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
			"PULUMI_SKIP_UPDATE_CHECK": "true",
		}))
	require.NoError(t, err)
	return stack
}

// TestEngine runs the plugin as the engine does: create, no changes, update in place, refresh, destroy.
func TestEngine(t *testing.T) {
	t.Parallel()
	plane := sharedControlPlane(t)
	p := &program{kubeconfig: plane.kubeconfig, namespace: "engine", chart: newChart(t, "1.0.0"), key: "hush-hush", greeting: "hello"}
	backend := t.TempDir()
	stack, ctx := newStack(t, backend, p), t.Context()

	preview, err := stack.Preview(ctx)
	require.NoError(t, err)
	require.Equal(t, map[apitype.OpType]int{apitype.OpCreate: 5}, preview.ChangeSummary)
	up, err := stack.Up(ctx)
	require.NoError(t, err)
	require.Contains(t, up.StdOut, provider.Notice)
	require.Equal(t, "hello", deployed(t, "engine")["greeting"])
	requireSecret(t, backend, p.key)

	for _, refresh := range []bool{false, true} {
		options := []optpreview.Option{optpreview.ExpectNoChanges()}
		if refresh {
			options = append(options, optpreview.Refresh())
		}
		_, err = stack.Preview(ctx, options...)
		require.NoError(t, err)
	}

	p.key, p.chart, p.greeting = "rotated", newArchive(t, t.TempDir(), "1.1.0"), "good night"
	up, err = stack.Up(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"same": 3, "update": 2}, *up.Summary.ResourceChanges)
	require.Equal(t, "good night", deployed(t, "engine")["greeting"])
	found, err := plane.client.CoreV1().Secrets("engine").Get(ctx, "key", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "rotated", string(found.Data["age.agekey"]))

	_, err = stack.Refresh(ctx, optrefresh.ExpectNoChanges())
	require.NoError(t, err)
	_, err = stack.Up(ctx, optup.ExpectNoChanges())
	require.NoError(t, err)
	_, err = stack.Destroy(ctx)
	require.NoError(t, err)
	namespaces, err := plane.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=engine"})
	require.NoError(t, err)
	require.Empty(t, namespaces.Items)
}

// TestEngineBeforeTheClusterIsThere: if the kubeconfig is unknown, a preview shows all resources that will be created.
func TestEngineBeforeTheClusterIsThere(t *testing.T) {
	t.Parallel()
	p := &program{
		kubeconfig: sharedControlPlane(t).kubeconfig, namespace: "late-engine", chart: newChart(t, "1.0.0"), key: "hush",
		greeting: "hello", late: true,
	}
	stack, ctx := newStack(t, t.TempDir(), p), t.Context()
	preview, err := stack.Preview(ctx)
	require.NoError(t, err)
	require.Equal(t, map[apitype.OpType]int{apitype.OpCreate: 7}, preview.ChangeSummary)
	_, err = stack.Up(ctx)
	require.NoError(t, err)
	_, err = stack.Preview(ctx, optpreview.ExpectNoChanges())
	require.NoError(t, err)
	_, err = stack.Destroy(ctx)
	require.NoError(t, err)
}

// requireSecret checks that the state on disk contains neither the text nor its encoding.
func requireSecret(t *testing.T, backend, text string) {
	t.Helper()
	state, err := os.ReadFile(filepath.Join(backend, ".pulumi", "stacks", "standin", "test.json"))
	require.NoError(t, err)
	require.Contains(t, string(state), "kubernetes:core/v1:Secret")
	require.NotContains(t, string(state), text)
	require.NotContains(t, string(state), base64.StdEncoding.EncodeToString([]byte(text)))
}
