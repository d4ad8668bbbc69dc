package passthrough

import (
	"regexp"
	"slices"
	"strings"
)

// Report is what is read from the report of a host, a text of the output of many commands (pve-manager, PVE/Report.pm). Nothing else of
// it is kept.
type Report struct {
	// CommandLine are the options of the running kernel. Empty if the report does not have them.
	CommandLine []string
	// Drivers are the drivers of each PCI function by its address. Nil if the report does not list the devices.
	Drivers map[string]Drivers
}

// Drivers are the drivers of a PCI function.
type Drivers struct {
	// InUse is the driver that has the device; empty if none has it.
	InUse string
	// Modules of the kernel that could take it.
	Modules []string
}

// The commands of the report whose output is read, as their headings are in it.
const (
	commandLineHeading = "# cat /proc/cmdline"
	devicesHeading     = "# lspci -nnk"
)

// ParseReport reads a report. A part that is missing leaves its field empty.
func ParseReport(text string) Report {
	lines := strings.Split(text, "\n")
	var read Report
	if output := outputOf(lines, commandLineHeading); len(output) > 0 {
		read.CommandLine = strings.Fields(output[0])
	}
	if output := outputOf(lines, devicesHeading); len(output) > 0 {
		read.Drivers = driversIn(output)
	}
	return read
}

// outputOf returns the lines below a heading, up to the empty line before the next one.
func outputOf(lines []string, heading string) []string {
	at := slices.Index(lines, heading)
	if at < 0 {
		return nil
	}
	output := lines[at+1:]
	if end := slices.Index(output, ""); end >= 0 {
		return output[:end]
	}
	return output
}

// deviceLine begins the lines of a device; lspci leaves out the domain if all devices are in domain 0.
var deviceLine = regexp.MustCompile(`^((?:[0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]) `)

func driversIn(output []string) map[string]Drivers {
	drivers := map[string]Drivers{}
	address := ""
	for _, line := range output {
		if found := deviceLine.FindStringSubmatch(line); found != nil {
			address = found[1]
			if strings.Count(address, ":") == 1 {
				address = "0000:" + address
			}
			drivers[address] = Drivers{}
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		one := drivers[address]
		switch key {
		case "Kernel driver in use":
			one.InUse = value
		case "Kernel modules":
			one.Modules = strings.Split(value, ", ")
		default:
			continue
		}
		drivers[address] = one
	}
	return drivers
}
