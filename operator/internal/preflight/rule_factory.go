package preflight

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
)

// checkFactory checks whether the schematic can be resolved and its ISO downloaded. If nothing of that is to be done, an unreachable
// factory is only a warning.
func checkFactory(s *collector, inv *inventory.Inventory, found Snapshot) {
	talos := inv.Cluster.Talos
	factory := found.Factory
	away := s.fail
	if factoryIsSpared(inv, found) {
		away = s.warn
	}
	mark := len(s.checks)
	switch {
	case factory.Versions.Err != nil:
		away("factory", "see that this machine reaches it, or set em-infra:imageFactoryUrl", "the Image Factory at %s does not answer (%s)", factory.URL, inOneLine(factory.Versions.Err))
	case !slices.Contains(factory.Versions.Value, talos.Version.String()):
		s.fail("factory", "choose a version that "+strings.TrimSuffix(factory.URL, "/")+"/versions lists", "the Image Factory at %s has no Talos %s", factory.URL, talos.Version)
	case factory.Extensions.Err != nil:
		away("factory", "try again later", "the Image Factory at %s does not tell its extensions (%s)", factory.URL, inOneLine(factory.Extensions.Err))
	default:
		if absent := without(factory.Needed, factory.Extensions.Value); len(absent) > 0 {
			s.fail("factory", "correct talos.schematic.extensions or talos.version", "the Image Factory at %s has no extension %s for Talos %s", factory.URL, listed(absent), talos.Version)
		}
	}
	for _, name := range onlineHosts(inv, found) {
		if err := found.Hosts[name].FactoryErr; err != nil {
			away("factory", "see the host's DNS and gateway in its network settings", "%s does not reach the Image Factory at %s (%s)", name, factory.URL, err)
		}
	}
	if s.sound(mark) {
		s.ok("factory", "the Image Factory at %s has Talos %s, and is reached from the host", factory.URL, talos.Version)
	}
}

// inOneLine returns the text of an error without line breaks, since it may quote an answer.
func inOneLine(err error) string { return onOneLine(err.Error()) }

func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// factoryIsSpared reports whether a run needs nothing of the factory: the templates have the ISO of the inventory, and no worker with
// GPUs is made or gets another image, whose own schematic the factory is asked for.
func factoryIsSpared(inv *inventory.Inventory, found Snapshot) bool {
	stale := func(host string) bool {
		return !imageIn(found.Configs[inv.Cluster.TemplateVMID(host)].Value).wantedBy(inv, found)
	}
	isNew := func(worker inventory.Node) bool { return found.ownConfig(worker) == nil }
	return len(found.Factory.UnmadeImages) == 0 && !slices.ContainsFunc(inv.TemplateHosts(), stale) && !slices.ContainsFunc(inv.Nodes.GPUWorkers(), isNew)
}
