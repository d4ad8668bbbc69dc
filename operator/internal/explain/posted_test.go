package explain_test

import "maps"

// examples are errors by the name of the row that must match them: errors from the lab and the sources, and errors from forums and
// issues, unchanged except for names and addresses. The row contains the source of its error.
var examples = merged(fromSources, postedProxmox, postedStorages, postedTalos, postedEngine, postedKubernetes, postedPods, postedGPU)

func merged(parts ...map[string][]string) map[string][]string {
	all := map[string][]string{}
	for _, part := range parts {
		for name := range part {
			if _, twice := all[name]; twice {
				panic("two groups have examples of row " + name)
			}
		}
		maps.Copy(all, part)
	}
	return all
}
