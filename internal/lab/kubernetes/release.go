package kubernetes

import (
	"errors"
	"fmt"

	"github.com/siderolabs/go-kubernetes/kubernetes/compatibility"
	"golang.org/x/mod/semver"
)

// Tools are the executables of a control plane.
type Tools struct {
	// ControlPlanes are builds of tools/controlplane, each of another minor release of Kubernetes, the oldest first. The first runs etcd.
	// At least one is required.
	ControlPlanes []ControlPlane
	// Kwok is tools/kwok, which simulates Pods.
	Kwok string
}

// ControlPlane is a build of tools/controlplane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
type ControlPlane struct {
	// Version is its release of Kubernetes, such as v1.35.4.
	Version string
	// Path is the executable.
	Path string
}

// Versions returns the releases of the control planes, in their order.
func (t Tools) Versions() []string {
	var versions []string
	for _, c := range t.ControlPlanes {
		versions = append(versions, c.Version)
	}
	return versions
}

var errNoControlPlanes = errors.New("no control plane to run")

// releaseOf returns the control plane that runs for an image: the one with the minor release in the image's tag. If there is none, it
// is the newest older one, so that an older release than before never gets the data in etcd. If there is no older one, it is the
// first. Patch releases are not distinguished.
func (t Tools) releaseOf(image string) ControlPlane {
	minor := semver.MajorMinor(tagOf(image))
	chosen := t.ControlPlanes[0]
	for _, c := range t.ControlPlanes {
		if semver.Compare(semver.MajorMinor(c.Version), minor) <= 0 {
			chosen = c
		}
	}
	return chosen
}

// runs reports whether the minor release of an image runs, and not another one in its place.
func (t Tools) runs(image string) bool {
	return semver.MajorMinor(t.releaseOf(image).Version) == semver.MajorMinor(tagOf(image))
}

// tagOf returns the release in the tag of an image, such as v1.35.4.
func tagOf(image string) string { return "v" + compatibility.VersionFromImageRef(image).String() }

// older orders releases, the oldest first.
func older(a, b ControlPlane) int { return semver.Compare(a.Version, b.Version) }

// reportReplaced logs, once for each release, that another one runs in its place.
func (c *Clusters) reportReplaced(runs []staticPodRun) {
	for _, run := range runs {
		for _, pod := range staticPods(run.node) {
			if c.config.Tools.runs(pod.image) {
				continue
			}
			c.mu.Lock()
			version := tagOf(pod.image)
			first := !c.replaced[version]
			c.replaced[version] = true
			c.mu.Unlock()
			if first {
				c.config.Log.Warn(fmt.Sprintf("Kubernetes %s is not built: %s runs in its place", version, c.config.Tools.releaseOf(pod.image).Version),
					"releases that can be built", "em-infra tools list")
			}
		}
	}
}
