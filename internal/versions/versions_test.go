package versions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/versions"
)

func version(t *testing.T, text string) versions.Version {
	t.Helper()
	parsed, err := versions.Parse(text)
	require.NoError(t, err)
	return parsed
}

func state(t *testing.T, talos, kubernetes string) versions.State {
	t.Helper()
	return versions.State{Talos: version(t, talos), Kubernetes: version(t, kubernetes)}
}

func TestVersionsAsText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "v1.12.4", version(t, "v1.12.4").String())
	require.Equal(t, "v1.14.0-rc.1", version(t, "v1.14.0-rc.1").String())
	require.Equal(t, versions.Minor{Major: 1, Minor: 12}, version(t, "v1.12.4").Minor())
	for _, text := range []string{"", "1.12.4", "v1.12", "latest", "v1.12.4.5"} {
		_, err := versions.Parse(text)
		require.EqualError(t, err, `"`+text+`" is not a version: write one like v1.12.4`)
	}
}

// The matrix of the releases' own documentation and code.
func TestWhichKubernetesATalosSupports(t *testing.T) {
	t.Parallel()
	require.Equal(t, "v1.2 to v1.14", versions.Talos().String())
	for talos, want := range map[versions.Minor]string{
		{Major: 1, Minor: 10}: "v1.28 to v1.33",
		{Major: 1, Minor: 11}: "v1.29 to v1.34",
		{Major: 1, Minor: 12}: "v1.30 to v1.35",
		{Major: 1, Minor: 13}: "v1.31 to v1.36",
		{Major: 1, Minor: 14}: "v1.32 to v1.37",
	} {
		require.Equal(t, want, versions.Kubernetes(talos).String(), talos)
	}
	require.Zero(t, versions.Kubernetes(versions.Minor{Major: 1, Minor: 15}))
	require.Zero(t, versions.Kubernetes(versions.Minor{Major: 2, Minor: 0}))
}

// A minor without a line would break the way to the next one.
func TestReleasesFollowEachOther(t *testing.T) {
	t.Parallel()
	supported := versions.Talos()
	for minor := supported.First; minor.Compare(supported.Last) <= 0; minor = minor.Next() {
		latest, known := versions.Latest(minor)
		require.True(t, known, minor)
		require.Equal(t, minor, latest.Minor())
		kubernetes, known := versions.DefaultKubernetes(minor)
		require.True(t, known, minor)
		require.Equal(t, versions.Kubernetes(minor).Last, kubernetes.Minor(), minor)
	}
	_, known := versions.Latest(supported.Last.Next())
	require.False(t, known)
}

// Lines of our own stand only for releases that the machinery does not know: a newer machinery replaces them.
func TestOwnLinesAreTheMachinerysSuccessors(t *testing.T) {
	t.Parallel()
	contracts, machinery, err := versions.Contracts()
	require.NoError(t, err)
	require.Equal(t, "v1.0 to v1.12", contracts.String())
	require.Equal(t, "v1.12.4", machinery.String())
	for _, own := range versions.OwnLines() {
		require.Positive(t, own.Compare(machinery.Minor()), own)
		require.Zero(t, versions.AskedKubernetes(own), own)
	}
}

func TestWays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to versions.State
		want     string
	}{
		"to the newest": {
			state(t, "v1.12.4", "v1.35.4"), versions.Newest(),
			"talos.version v1.12.11 → talos.version v1.13.9 → kubernetes.version v1.36.3 → talos.version v1.14.1 → kubernetes.version v1.37.0",
		},
		"to a later patch than is known":   {state(t, "v1.12.13", "v1.35.4"), state(t, "v1.13.12", "v1.35.4"), "talos.version v1.13.12"},
		"within a minor":                   {state(t, "v1.12.4", "v1.35.4"), state(t, "v1.12.9", "v1.35.6"), "talos.version v1.12.9 → kubernetes.version v1.35.6"},
		"Kubernetes alone":                 {state(t, "v1.12.4", "v1.33.1"), state(t, "v1.12.4", "v1.35.4"), "kubernetes.version v1.34.1 → kubernetes.version v1.35.4"},
		"Kubernetes that is left behind":   {state(t, "v1.12.11", "v1.30.2"), state(t, "v1.13.9", "v1.31.4"), "kubernetes.version v1.31.4 → talos.version v1.13.9"},
		"nowhere":                          {state(t, "v1.12.4", "v1.35.4"), state(t, "v1.12.4", "v1.35.4"), ""},
		"from a release of long ago":       {state(t, "v1.10.1", "v1.33.6"), state(t, "v1.12.11", "v1.34.1"), "talos.version v1.10.9 → talos.version v1.11.6 → kubernetes.version v1.34.1 → talos.version v1.12.11"},
		"Kubernetes of a minor not listed": {state(t, "v1.2.9", "v1.23.1"), state(t, "v1.2.9", "v1.25.5"), "kubernetes.version v1.24.0 → kubernetes.version v1.25.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			way, err := versions.Way(test.from, test.to)
			require.NoError(t, err)
			require.Equal(t, test.want, way.String())
		})
	}
}

func TestNoWay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ from, to versions.State }{
		"back":                    {state(t, "v1.12.11", "v1.35.4"), state(t, "v1.12.4", "v1.35.4")},
		"Kubernetes back":         {state(t, "v1.12.11", "v1.35.4"), state(t, "v1.12.11", "v1.34.1")},
		"a pair that never fits":  {state(t, "v1.12.11", "v1.35.4"), state(t, "v1.12.11", "v1.36.3")},
		"to a Talos not known":    {state(t, "v1.14.1", "v1.37.0"), state(t, "v1.15.0", "v1.37.0")},
		"from a Talos not known":  {state(t, "v1.15.0", "v1.37.0"), state(t, "v1.15.0", "v1.38.0")},
		"Kubernetes is too old":   {state(t, "v1.12.11", "v1.30.2"), state(t, "v1.13.9", "v1.30.2")},
		"another major of either": {state(t, "v1.14.1", "v1.37.0"), state(t, "v2.0.0", "v1.37.0")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := versions.Way(test.from, test.to)
			require.EqualError(t, err, "no way leads from Talos "+test.from.Talos.String()+" with Kubernetes "+test.from.Kubernetes.String()+
				" to Talos "+test.to.Talos.String()+" with Kubernetes "+test.to.Kubernetes.String()+": choose versions that are newer and go together")
		})
	}
}

// TestEachStopOfAWayIsAllowed checks that each stop of a way is an allowed step, and that the steps lead to the end.
func TestEachStopOfAWayIsAllowed(t *testing.T) {
	t.Parallel()
	for talos := versions.Talos().First; talos.Compare(versions.Talos().Last) <= 0; talos = talos.Next() {
		kubernetes, _ := versions.DefaultKubernetes(talos)
		here := versions.State{Talos: version(t, talos.String()+".0"), Kubernetes: kubernetes}
		way, err := versions.Way(here, versions.Newest())
		require.NoError(t, err, talos)
		for _, stop := range way {
			wanted := here
			if stop.Key == "talos.version" {
				wanted.Talos = stop.Version
			} else {
				wanted.Kubernetes = stop.Version
			}
			require.Empty(t, judge([]versions.Node{{Name: "cp-1", State: here}}, wanted), "%v → %v", here, wanted)
			here = wanted
		}
		require.Equal(t, versions.Newest(), here)
	}
}

func TestTheReleaseOfAnImage(t *testing.T) {
	t.Parallel()
	for reference, want := range map[string]string{
		"factory.talos.dev/nocloud-installer/376567988ad3:v1.12.4":   "v1.12.4",
		"registry.example.org:5000/installer:v1.13.0-beta.0":         "v1.13.0-beta.0",
		"registry.example.org/installer:v1.12.4@sha256:376567988ad3": "v1.12.4",
		"registry.example.org:5000/installer":                        "v0.0.0",
		"registry.example.org/installer@sha256:376567988ad3":         "v0.0.0",
		"registry.example.org/installer:latest":                      "v0.0.0",
		"":                                                           "v0.0.0",
	} {
		require.Equal(t, want, versions.OfImage(reference).String(), reference)
	}
}
