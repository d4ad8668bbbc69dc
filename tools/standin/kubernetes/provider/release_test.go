package provider_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const helmRelease = "kubernetes:helm.sh/v3:Release"

// demo is a chart with a ConfigMap of its values. With the value stuck it also has a Pod that never runs.
func demo(version string) *chart.Chart {
	return &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v2", Name: "demo", Version: version, AppVersion: "9.9"},
		Raw:      []*chart.File{{Name: "values.yaml", Data: []byte("greeting: hello\nkeep: me\n")}},
		Values:   map[string]any{"greeting": "hello", "keep": "me"},
		Templates: []*chart.File{
			{Name: "templates/config.yaml", Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  greeting: {{ .Values.greeting | quote }}
  kept: {{ .Values.keep | default "nothing" | quote }}
  version: {{ .Chart.Version | quote }}
`)},
			{Name: "templates/pod.yaml", Data: []byte(`{{ if .Values.stuck }}apiVersion: v1
kind: Pod
metadata: {name: {{ .Release.Name }}-stuck}
spec: {containers: [{name: main, image: nobody}]}
{{ end }}`)},
		},
	}
}

// newChart writes the chart into a new folder.
func newChart(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, chartutil.SaveDir(demo(version), dir))
	return filepath.Join(dir, "demo")
}

// newArchive writes the chart as demo-VERSION.tgz.
func newArchive(t *testing.T, dir, version string) string {
	t.Helper()
	path, err := chartutil.Save(demo(version), dir)
	require.NoError(t, err)
	return path
}

func releaseInputs(in, chart string, more map[string]any) resource.PropertyMap {
	all := map[string]any{"chart": chart, "name": "demo", "namespace": in, "timeout": patience}
	for name, value := range more {
		all[name] = value
	}
	return props(all)
}

// deployed returns the data of the ConfigMap that a release created.
func deployed(t *testing.T, in string) map[string]string {
	t.Helper()
	found, err := sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Get(t.Context(), "demo", metav1.GetOptions{})
	require.NoError(t, err)
	return found.Data
}

func TestLifeOfARelease(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	first, second := newChart(t, "1.0.0"), newArchive(t, t.TempDir(), "1.1.0")
	given := func(chart, greeting string) resource.PropertyMap {
		return releaseInputs(in, chart, map[string]any{"values": map[string]any{"greeting": greeting}, "atomic": true})
	}
	m := h.mustCreate(helmRelease, "demo", given(first, "good day"))
	require.Equal(t, in+"/demo", m.id)
	require.Equal(t, map[string]string{"greeting": "good day", "kept": "me", "version": "1.0.0"}, deployed(t, in))
	require.Equal(t, "1.0.0", m.state["version"].StringValue())
	require.Equal(t, map[string]any{
		"appVersion": "9.9", "chart": "demo", "name": "demo", "namespace": in, "revision": 1.0, "status": "deployed", "version": "1.0.0",
	}, m.state["status"].ObjectValue().Mappable())
	require.Equal(t, map[string]any{"ConfigMap/v1": []any{"demo"}}, m.state["resourceNames"].ObjectValue().Mappable())
	require.True(t, m.state["__inputs"].IsSecret())

	for _, when := range []string{"at once", "after a refresh"} {
		changes, _ := m.diff(given(first, "good day"))
		require.Empty(t, changes, when)
		require.True(t, m.refresh())
	}
	changes, _ := m.diff(given(second, "good night"))
	require.Equal(t, []string{"chart: UPDATE", "values.greeting: UPDATE", "version: UPDATE"}, changes)
	require.NoError(t, m.update(given(second, "good night")))
	require.Equal(t, map[string]string{"greeting": "good night", "kept": "me", "version": "1.1.0"}, deployed(t, in))
	require.Equal(t, 2.0, m.state["status"].ObjectValue()["revision"].NumberValue())

	changes, _ = m.diff(releaseInputs("elsewhere", second, map[string]any{"values": map[string]any{"greeting": "good night"}, "atomic": true}))
	require.Equal(t, []string{"namespace: UPDATE_REPLACE"}, changes)
	require.NoError(t, m.delete())
	require.False(t, m.refresh())
	_, err := sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Get(t.Context(), "demo", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.ErrorContains(t, m.delete(), "uninstall: Release not loaded: demo: release: not found")
}

// TestValues: the files come first, then the values. A null removes a default.
func TestValues(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	file, err := resource.NewTextAsset("greeting: from a file\n")
	require.NoError(t, err)
	m := h.mustCreate(helmRelease, "demo", releaseInputs(in, newChart(t, "1.0.0"), map[string]any{
		"valueYamlFiles": []any{file}, "values": map[string]any{"keep": nil},
	}))
	require.Equal(t, map[string]string{"greeting": "from a file", "kept": "nothing", "version": "1.0.0"}, deployed(t, in))
	require.NotContains(t, m.inputs, resource.PropertyKey("valueYamlFiles"))
	require.NoError(t, m.delete())
}

func TestSecretValuesStaySecret(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	given := releaseInputs(in, newChart(t, "1.0.0"), map[string]any{"values": map[string]any{
		"greeting": resource.MakeSecret(resource.NewProperty("hush")), "keep": "open",
	}})
	m := h.mustCreate(helmRelease, "demo", given)
	require.True(t, m.refresh())
	for name, properties := range map[string]resource.PropertyMap{"inputs": m.inputs, "state": m.state} {
		values := properties["values"].ObjectValue()
		require.True(t, values["greeting"].IsSecret(), name)
		require.False(t, values["keep"].IsSecret(), name)
	}
	changes, _ := m.diff(given)
	require.Empty(t, changes)
	require.NoError(t, m.delete())
}

func TestReleaseCheckRefuses(t *testing.T) {
	t.Parallel()
	h := startOn(t, nil)
	for name, tc := range map[string]struct {
		given map[string]any
		want  string
	}{
		"no such property": {map[string]any{"chart": "x", "vaules": 1}, "vaules: the official schema has no such property of a Release: take it away"},
		"no such property of a repository": {
			map[string]any{"chart": "x", "repositoryOpts": map[string]any{"url": "y"}},
			"repositoryOpts.url: the official schema has no such property of a Release: take it away",
		},
		"no chart": {map[string]any{"name": "x"}, "chart: a Release needs a chart"},
		"a path with no chart": {
			map[string]any{"chart": "./nowhere", "name": "x"},
			`chart: path "./nowhere" not found; check the chart name and repository configuration.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, []string{tc.want}, h.failures(urn(helmRelease, "demo"), props(tc.given)))
		})
	}
}

func TestReleaseCheckFillsIn(t *testing.T) {
	t.Parallel()
	h := startOn(t, map[string]any{"namespace": "home"})
	path := newChart(t, "1.2.3")
	checked := h.check(urn(helmRelease, "demo"), props(map[string]any{"chart": path, "version": ">=1.0.0", "compat": "true"}), nil)
	require.Regexp(t, `^demo-[0-9a-f]{8}$`, checked["name"].StringValue())
	require.Equal(t, "home", checked["namespace"].StringValue())
	require.Equal(t, 300.0, checked["timeout"].NumberValue())
	require.Equal(t, "1.2.3", checked["version"].StringValue(), "a range becomes what was found in it")
	require.NotContains(t, checked, resource.PropertyKey("compat"))

	unknown := resource.MakeComputed(resource.NewProperty(""))
	checked = h.check(urn(helmRelease, "demo"), props(map[string]any{
		"chart": path, "name": "x", "values": map[string]any{"a": unknown, "b": "known"},
	}), nil)
	require.True(t, checked["values"].ObjectValue()["a"].IsComputed())
	require.Equal(t, "known", checked["values"].ObjectValue()["b"].StringValue())
}

// TestReleaseThatFails: with atomic nothing is left. Without it, the next run upgrades the failed release.
func TestReleaseThatFails(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	awaitServiceAccount(t, in)
	chart := newChart(t, "1.0.0")
	stuck := func(more map[string]any) resource.PropertyMap {
		all := map[string]any{"values": map[string]any{"stuck": true}, "timeout": 8}
		for name, value := range more {
			all[name] = value
		}
		return releaseInputs(in, chart, all)
	}
	m, err := h.create(helmRelease, "demo", stuck(map[string]any{"atomic": true}))
	require.ErrorContains(t, err, "release demo failed, and has been uninstalled due to atomic being set")
	require.Nil(t, m.state)

	m, err = h.create(helmRelease, "demo", stuck(nil))
	require.ErrorContains(t, err, fmt.Sprintf("Helm release %q was created, but failed to initialize completely. Use Helm CLI "+
		"to investigate: failed to become available within allocated timeout. Error: Helm Release %s: ", in+"/demo", in+"/demo"))
	require.Equal(t, "failed", m.state["status"].ObjectValue()["status"].StringValue())
	// Without any values Helm uses the former ones, so the value must be set to false.
	calm := releaseInputs(in, chart, map[string]any{"values": map[string]any{"stuck": false}})
	require.NoError(t, m.update(calm))
	require.Equal(t, "deployed", m.state["status"].ObjectValue()["status"].StringValue())

	err = m.update(stuck(map[string]any{"atomic": true}))
	require.ErrorContains(t, err, "has been rolled back due to atomic being set")
	require.Equal(t, "hello", deployed(t, in)["greeting"])
	require.NoError(t, m.update(calm))
	require.NoError(t, m.delete())
}

func TestReleaseThatIsThere(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	given := releaseInputs(in, newChart(t, "1.0.0"), nil)
	h.mustCreate(helmRelease, "demo", given)
	_, err := h.create(helmRelease, "demo", given)
	require.ErrorContains(t, err, "cannot re-use a name that is still in use")

	m := &made{h: h, urn: urn(helmRelease, "demo"), id: in + "/demo"}
	require.True(t, m.refresh(), "an import")
	require.Equal(t, "demo", m.inputs["chart"].StringValue())
	require.Equal(t, "1.0.0", m.inputs["version"].StringValue())
	require.NoError(t, m.delete())
}

// TestCreateNamespace: the release creates its namespace, but does not delete it.
func TestCreateNamespace(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)+"-made"
	m := h.mustCreate(helmRelease, "demo", releaseInputs(in, newChart(t, "1.0.0"), map[string]any{"createNamespace": true}))
	require.Equal(t, "hello", deployed(t, in)["greeting"])
	require.NoError(t, m.delete())
	_, err := sharedControlPlane(t).client.CoreV1().Namespaces().Get(t.Context(), in, metav1.GetOptions{})
	require.NoError(t, err)
}

func TestLibraryChart(t *testing.T) {
	t.Parallel()
	h, in, dir := startOn(t, nil), newNamespace(t), t.TempDir()
	library := demo("1.0.0")
	library.Metadata.Type = "library"
	require.NoError(t, chartutil.SaveDir(library, dir))
	_, err := h.create(helmRelease, "demo", releaseInputs(in, filepath.Join(dir, "demo"), nil))
	require.ErrorContains(t, err, "library charts are not installable")
}
