package recovering

import "github.com/em-infra/em-infra/operator/internal/recovery"

// Found notes a machine that never ran, as a look at the host does.
func (r *Recovery) Found(neverRan recovery.Remnant) { r.neverRan = append(r.neverRan, neverRan) }
