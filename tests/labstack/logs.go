package labstack

import (
	"regexp"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// Call is a request that the lab's Proxmox VE answered.
type Call = proxmox.Call

// Calls returns the calls so far to the Proxmox VE of the lab in a folder.
func Calls(dir string) ([]proxmox.Call, error) { return HostLog(dir).Read() }

// Writes returns the calls that may have changed the host.
func Writes(calls []proxmox.Call) []string {
	var found []string
	for _, c := range calls {
		if c.Write() {
			found = append(found, c.Verb+" "+c.Path)
		}
	}
	return found
}

// NASCalls returns the methods that the NAS of the lab in a folder was called with so far. There are none without a NAS.
func NASCalls(dir string) ([]string, error) {
	type line struct {
		Method string `json:"method"`
	}
	lines, err := (&Log[line]{path: lab.NASCalls(dir)}).Read()
	var methods []string
	for _, line := range lines {
		methods = append(methods, line.Method)
	}
	return methods, err
}

// nasReads matches the methods that change nothing on a NAS: to log in, and to ask for what there is.
var nasReads = regexp.MustCompile(`^(auth|core|system)\.|\.(query|config|get_instance)$`)

// NASWrites returns the methods that may have changed the NAS.
func NASWrites(methods []string) []string {
	return slices.DeleteFunc(slices.Clone(methods), nasReads.MatchString)
}

// NodeLine is one line of a lab's log of its nodes: a call, or a step of a machine's life.
type NodeLine struct {
	Time         time.Time `json:"time"`
	VMID         int       `json:"vmid"`
	Method       string    `json:"method"`
	Step         string    `json:"step"`
	Code         string    `json:"code"`
	Milliseconds float64   `json:"ms"`
}

// End is when the call or the step was over.
func (l NodeLine) End() time.Time {
	return l.Time.Add(time.Duration(l.Milliseconds * float64(time.Millisecond)))
}

// NodeLog returns the events on the nodes of the lab in a folder since a time, in the order in which they began. It is empty
// before the first boot.
func NodeLog(dir string, since time.Time) ([]NodeLine, error) {
	lines, err := LogOfNodes(dir).Read()
	return Since(lines, since), err
}

// Since returns the lines of a log since a time, in the order in which they began.
func Since(lines []NodeLine, since time.Time) []NodeLine {
	var found []NodeLine
	for _, line := range lines {
		if !line.Time.Before(since) {
			found = append(found, line)
		}
	}
	slices.SortStableFunc(found, func(a, b NodeLine) int { return a.Time.Compare(b.Time) })
	return found
}

// Outage is the time in which a node was not available to its cluster.
type Outage struct {
	VMID     int
	From, To time.Time
}

// Outages returns the outages of nodes, from the stop of their services until they run again. One that has not ended has no To.
func Outages(lines []NodeLine) []Outage {
	var found []Outage
	open := map[int]int{}
	for _, line := range lines {
		switch i, down := open[line.VMID]; {
		case line.Step == "stop" && !down:
			open[line.VMID] = len(found)
			found = append(found, Outage{VMID: line.VMID, From: line.Time})
		case line.Step == "services" && down:
			found[i].To = line.End()
			delete(open, line.VMID)
		}
	}
	return found
}
