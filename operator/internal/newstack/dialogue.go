package newstack

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// Ask asks a person one question and returns the answer; an empty one means what is proposed. wrong is why the last answer to this question
// cannot be used; nil at first.
type Ask func(question, proposed string, wrong error) (string, error)

// question is one of the dialogue.
type question struct {
	text string
	// kinds of stacks for which it is asked; none stands for clusters alone.
	kinds []manifest.Kind
	// open reports whether there is something to ask.
	open func(given Answers, proposed Plan, site Site) bool
	// proposed is the answer if the user only presses enter; empty for none.
	proposed func(Plan) string
	// set takes an answer.
	set func(*Answers, string) error
}

// questions are in the order in which later proposals follow from earlier answers.
var questions = []question{
	{
		text:     "name of the cluster",
		open:     func(a Answers, _ Plan, _ Site) bool { return a.Cluster == "" },
		proposed: func(p Plan) string { return p.Cluster },
		set:      func(a *Answers, text string) error { a.Cluster = text; return a.CheckNames() },
	},
	{
		text:     "hosts, with commas between them",
		kinds:    []manifest.Kind{manifest.Platform, manifest.Hosts},
		open:     func(a Answers, _ Plan, s Site) bool { return len(a.Hosts) == 0 && len(s.Found.OnlineHosts()) > 1 },
		proposed: func(p Plan) string { return strings.Join(p.Hosts, ",") },
		set: func(a *Answers, text string) error {
			a.Hosts = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
			return nil
		},
	},
	{
		text:     "host of the systems",
		kinds:    []manifest.Kind{manifest.Systems},
		open:     func(a Answers, _ Plan, s Site) bool { return len(a.Hosts) == 0 && len(s.Found.OnlineHosts()) > 1 },
		proposed: func(p Plan) string { return strings.Join(p.Hosts, ",") },
		set:      func(a *Answers, text string) error { a.Hosts = []string{text}; return nil },
	},
	{
		text:     "bridge of the machines",
		kinds:    []manifest.Kind{manifest.Platform, manifest.Systems},
		open:     func(a Answers, _ Plan, _ Site) bool { return a.Bridge == "" },
		proposed: func(p Plan) string { return p.Bridge },
		set:      func(a *Answers, text string) error { a.Bridge = text; return nil },
	},
	{
		text:     "VLAN tag, 0 for none",
		kinds:    []manifest.Kind{manifest.Platform, manifest.Systems},
		open:     func(a Answers, _ Plan, _ Site) bool { return a.VLAN == 0 },
		proposed: func(p Plan) string { return strconv.Itoa(p.VLAN) },
		set:      func(a *Answers, text string) (err error) { a.VLAN, err = number(text); return err },
	},
	{
		text:  "network of the machines, e.g. 192.168.20.0/24",
		kinds: []manifest.Kind{manifest.Platform, manifest.Systems},
		open:  func(a Answers, _ Plan, _ Site) bool { return !a.Network.IsValid() },
		proposed: func(p Plan) string {
			if !p.Network.IsValid() {
				return ""
			}
			return p.Network.String()
		},
		set: func(a *Answers, text string) (err error) {
			if a.Network, err = netip.ParsePrefix(text); err != nil {
				return fmt.Errorf("%q is no network: write one such as 192.168.20.0/24", text)
			}
			if !a.Network.Addr().Is4() {
				return notIPv4(a.Network)
			}
			return nil
		},
	},
	{
		text:     "its gateway",
		kinds:    []manifest.Kind{manifest.Platform, manifest.Systems},
		open:     func(a Answers, p Plan, _ Site) bool { return !a.Gateway.IsValid() && p.Gateway.IsValid() },
		proposed: func(p Plan) string { return p.Gateway.String() },
		set:      func(a *Answers, text string) (err error) { a.Gateway, err = address(text); return err },
	},
	{
		text:     "first of the addresses to use",
		kinds:    []manifest.Kind{manifest.Platform, manifest.Systems},
		open:     func(a Answers, p Plan, _ Site) bool { return !a.FirstAddress.IsValid() && p.FirstAddress.IsValid() },
		proposed: func(p Plan) string { return p.FirstAddress.String() },
		set:      func(a *Answers, text string) (err error) { a.FirstAddress, err = address(text); return err },
	},
	{
		text:     "control planes: 1, 3 or 5",
		open:     func(a Answers, _ Plan, _ Site) bool { return a.ControlPlanes == 0 },
		proposed: func(p Plan) string { return strconv.Itoa(p.ControlPlanes) },
		set:      func(a *Answers, text string) (err error) { a.ControlPlanes, err = number(text); return err },
	},
	{
		text:     "workers",
		open:     func(a Answers, _ Plan, _ Site) bool { return a.Workers == nil },
		proposed: func(p Plan) string { return strconv.Itoa(p.workers()) },
		set: func(a *Answers, text string) error {
			workers, err := number(text)
			a.Workers = &workers
			return err
		},
	},
	{
		text:     "workers with a GPU",
		open:     func(a Answers, p Plan, s Site) bool { return a.GPUWorkers == 0 && s.hasFreeGPU(p) },
		proposed: func(p Plan) string { return strconv.Itoa(p.GPUWorkers) },
		set:      func(a *Answers, text string) (err error) { a.GPUWorkers, err = number(text); return err },
	},
	{
		text:     "storage of the ISO",
		open:     func(a Answers, _ Plan, _ Site) bool { return a.ISOStorage == "" },
		proposed: func(p Plan) string { return p.ISOStorage },
		set:      func(a *Answers, text string) error { a.ISOStorage = text; return nil },
	},
	{
		text:     "storage of the disks",
		kinds:    []manifest.Kind{manifest.Platform, manifest.Systems},
		open:     func(a Answers, _ Plan, _ Site) bool { return a.DiskStorage == "" },
		proposed: func(p Plan) string { return p.DiskStorage },
		set:      func(a *Answers, text string) error { a.DiskStorage = text; return nil },
	},
	{
		text:     "pool of the NAS",
		open:     func(a Answers, _ Plan, s Site) bool { return a.NAS.Pool == "" && len(s.Pools) > 1 },
		proposed: func(Plan) string { return "" },
		set: func(a *Answers, text string) error {
			if text == "" {
				return errors.New("one of several pools has to be chosen: write the name of one")
			}
			a.NAS.Pool = text
			return nil
		},
	},
}

// Interview asks what the answers leave open, each question with what is proposed after the answers so far. An answer that cannot be used is
// asked again.
func (s Site) Interview(answers Answers, ask Ask) (Answers, error) {
	for _, q := range questions {
		proposed := s.proposed(answers)
		if !q.isFor(answers.kind()) || !q.open(answers, proposed, s) {
			continue
		}
		var wrong error
		for {
			text, err := ask(q.text, q.proposed(proposed), wrong)
			if err != nil {
				return answers, err
			}
			if text = strings.TrimSpace(text); text == "" {
				text = q.proposed(proposed)
			}
			changed := answers
			if wrong = q.set(&changed, text); wrong == nil {
				answers = changed
				break
			}
		}
	}
	return answers, nil
}

// isFor reports whether the question is asked for a kind of stacks.
func (q question) isFor(kind manifest.Kind) bool {
	if q.kinds == nil {
		return kind == manifest.Platform
	}
	return slices.Contains(q.kinds, kind)
}

// proposed returns what would be proposed after the answers so far. What it lacks is asked for, or reported in the end.
func (s Site) proposed(answers Answers) Plan {
	switch answers.kind() {
	case manifest.Hosts:
		plan, _ := s.ProposeHosts(answers)
		return Plan{Answers: plan.Answers}
	case manifest.Systems:
		plan, _ := s.ProposeSystems(answers)
		return Plan{Answers: plan.Answers}
	default:
		plan, _ := s.Propose(answers)
		return plan
	}
}

// hasFreeGPU reports whether a GPU worker is possible.
func (s Site) hasFreeGPU(p Plan) bool {
	for _, host := range p.Hosts {
		if free, _ := s.Found.FreeGPUs(host, p.Defaults.Talos.Version.String()); len(free) > 0 {
			return true
		}
	}
	return false
}

func number(text string) (int, error) {
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 {
		return 0, fmt.Errorf("%q is no number: write one such as 1", text)
	}
	return value, nil
}

func address(text string) (netip.Addr, error) {
	value, err := netip.ParseAddr(text)
	if err != nil {
		return value, fmt.Errorf("%q is no address: write one such as 192.168.20.1", text)
	}
	return value, nil
}
