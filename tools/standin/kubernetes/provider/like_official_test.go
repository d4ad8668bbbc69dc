package provider_test

import (
	"maps"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"
)

// officialDefaults are the inputs that the official provider v4.30.0 adds to a release. Check writes its struct Release with
// resource.NewPropertyMap (provider/pkg/provider/helm_release.go), which omits only nil pointers and nil maps (sdk/v3,
// go/common/util/mapper/mapper_encode.go). As read in the sources on 22 November 2026.
func officialDefaults() map[string]any {
	defaults := map[string]any{"timeout": 300.0, "values": map[string]any{}}
	for _, name := range []string{"description", "keyring", "postrender"} {
		defaults[name] = ""
	}
	for _, name := range []string{
		"allowNullValues", "atomic", "cleanupOnFail", "createNamespace", "dependencyUpdate", "devel", "disableCRDHooks",
		"disableOpenapiValidation", "disableWebhooks", "forceUpdate", "lint", "recreatePods", "renderSubchartNotes", "replace",
		"resetValues", "reuseValues", "skipAwait", "skipCrds", "verify", "waitForJobs",
	} {
		defaults[name] = false
	}
	return defaults
}

// TestInputsOfReleasesAreTheOfficialOnes: the inputs are equal, so that another build of the provider upgrades no release.
func TestInputsOfReleasesAreTheOfficialOnes(t *testing.T) {
	t.Parallel()
	h := startOn(t, nil)
	want := officialDefaults()
	maps.Copy(want, map[string]any{"chart": newChart(t, "1.2.3"), "name": "demo", "namespace": "here", "version": "1.2.3"})
	given := props(map[string]any{"chart": want["chart"], "name": "demo", "namespace": "here"})
	require.Equal(t, want, h.check(urn(helmRelease, "demo"), given, nil).Mappable())
}

// TestReleaseOfAnEarlierVersion: an earlier version did not write zero values. Their absence is no change, and a refresh adds them.
func TestReleaseOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	given := releaseInputs(in, newChart(t, "1.0.0"), map[string]any{"atomic": true})
	m := h.mustCreate(helmRelease, "demo", given)
	whole := m.inputs.Copy()
	zeros := props(officialDefaults())
	forget := func(properties resource.PropertyMap) {
		for name, zero := range zeros {
			if properties[name].DeepEquals(zero) {
				delete(properties, name)
			}
		}
	}
	inputs := m.state["__inputs"].SecretValue().Element.ObjectValue()
	forget(inputs)
	forget(m.state)
	forget(m.inputs)
	require.NotContains(t, m.inputs, resource.PropertyKey("allowNullValues"))

	changes, _ := m.diff(given)
	require.Empty(t, changes)
	require.True(t, m.refresh())
	require.Equal(t, whole, m.inputs)
	changes, _ = m.diff(given)
	require.Empty(t, changes)
	require.NoError(t, m.delete())
}
