package inventory

import (
	"regexp"
	"strings"
	"unicode"
)

// extensionName is the Image Factory's form of names of official extensions: owner/name, e.g. siderolabs/qemu-guest-agent.
var extensionName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+([._-][a-z0-9]+)*$`)

// schematic checks the customization of the image. Only the factory can check whether it has an extension for the Talos
// version.
func (c *checker) schematic() {
	schematic := c.inv.Cluster.Talos.Schematic
	at := key("talos", "schematic", "extensions")
	seen := make(map[string]bool, len(schematic.Extensions))
	for i, extension := range schematic.Extensions {
		switch {
		case extension == "":
			continue
		case !extensionName.MatchString(extension):
			problem := fault{
				What: "is not the name of an extension", Rule: "owner/name", Got: extension,
				Do: "write one like siderolabs/qemu-guest-agent",
			}
			if guess := "siderolabs/" + extension; extensionName.MatchString(guess) {
				problem.Do = "did you mean " + guess + "?"
			}
			c.cluster(at.Index(i), problem)
		case seen[extension]:
			c.cluster(at.Index(i), fault{What: "is given twice", Got: extension, Do: "remove one of them"})
		}
		seen[extension] = true
	}
	c.kernelArgs(schematic.KernelArgs)
}

func (c *checker) kernelArgs(args []string) {
	at := key("talos", "schematic", "kernelArgs")
	seen := make(map[string]bool, len(args))
	for i, arg := range args {
		switch {
		case arg == "":
			continue
		case strings.ContainsFunc(arg, unicode.IsSpace):
			c.cluster(at.Index(i), fault{
				What: "is more than one argument", Rule: "one for each item", Got: arg,
				Do: "write them as " + "[" + strings.Join(strings.Fields(arg), ", ") + "]",
			})
		case strings.ContainsFunc(arg, func(r rune) bool { return !unicode.IsPrint(r) }):
			c.cluster(at.Index(i), fault{What: "has characters that cannot be printed", Got: arg, Do: "remove them"})
		case seen[arg]:
			c.cluster(at.Index(i), fault{What: "is given twice", Got: arg, Do: "remove one of them"})
		}
		seen[arg] = true
	}
}
