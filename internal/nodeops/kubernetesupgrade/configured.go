package kubernetesupgrade

import (
	"context"
	"errors"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// errNotNeeded means that the Kubernetes API does not answer, and that nothing has to be upgraded.
var errNotNeeded = errors.New("the Kubernetes API does not answer and is not needed")

// briefPatience is the wait for a Kubernetes API that is not needed. It is enough for an API that works.
const briefPatience = 15 * time.Second

// awaitAPI waits until the Kubernetes API answers. The wait is short if nothing seems to be left to be done.
func (u Upgrade) awaitAPI(ctx context.Context) error {
	configured, limit := u.configured(ctx), u.Limits.API
	if configured {
		limit = min(limit, briefPatience)
	}
	err := nodeops.WaitUntilReady(ctx, u.Talosconfig, nodeops.Awaited{Limit: limit, Say: func(text string) { u.say("%s", text) }})
	if err != nil && configured && ctx.Err() == nil {
		return errNotNeeded
	}
	return err
}

// configured reports whether every node that answers has the version in its machine configuration, as after a run that was killed when everything was
// upgraded. Then nothing has to be upgraded, and the configurations that are applied next may have to repair the Kubernetes API.
func (u Upgrade) configured(ctx context.Context) bool {
	answers := false
	for _, node := range u.Nodes {
		m := member{Node: node}
		if u.ask(ctx, &m) != nil {
			continue // it is off, or has not joined yet
		}
		answers = true
		if kubelet, err := versionOf(m.images[k8s.KubeletID]); err != nil || kubelet.Compare(u.To) != 0 {
			return false
		}
		for _, version := range m.running {
			if version.Compare(u.To) != 0 {
				return false
			}
		}
	}
	return answers
}
