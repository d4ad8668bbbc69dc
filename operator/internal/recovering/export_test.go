package recovering

import "github.com/em-infra/em-infra/operator/internal/recovery"

// Found adds a machine that never ran, as a survey does.
func (r *Recovery) Found(neverRan recovery.Remnant) { r.neverRan = append(r.neverRan, neverRan) }

// Adopts adds a machine that up adopts.
func (r *Recovery) Adopts(remnant recovery.Remnant) { r.unanswered = append(r.unanswered, remnant) }
