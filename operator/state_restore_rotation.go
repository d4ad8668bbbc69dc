package operator

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// checkRotation refuses a backup if a rotation was begun in the present state and the backup has less of it: nodes may already have only the new
// secrets, and a step that is repeated after later ones can take from nodes what the later ones gave them. If the user has named the backup, that is
// only a warning. It is also a warning if only the backup has a rotation.
func (r restoration) checkRotation(present presentState, chosen backup.Backup, restored *engine.Exported, isNamed bool) error {
	text, err := chosen.Text()
	if err != nil {
		return err
	}
	begun, kept := r.rotationIn(present.deployment, present.text), r.rotationIn(restored.Deployment, text)
	lacks := ""
	switch {
	case begun == nil && kept == nil, begun == nil && len(present.deployment.Resources) == 0:
		return nil
	case begun == nil:
		r.emit(Note{Text: r.place.Complete(fmt.Sprintf("warning: in the backup %s a rotation (%s) was begun and has not ended, which the present state does not have: `em-infra rotate %[2]s` goes on from there", chosen.Name, kept.What))})
		return nil
	case kept == nil || kept.What != begun.What || !kept.Begun.Equal(begun.Begun):
		lacks = "does not have its new secrets, which nodes may have already"
	case kept.Done < begun.Done:
		lacks = fmt.Sprintf("is from before its step %d, which is done", begun.Done)
	default:
		return nil
	}
	lacks = fmt.Sprintf("a rotation (%s) was begun and has not ended, and the backup %s %s", begun.What, chosen.Name, lacks)
	if !isNamed {
		return fmt.Errorf("%s: run `em-infra rotate %s` again, which goes on from there; only if the rotation is to be given up, give --from the name of a backup", lacks, begun.What)
	}
	r.emit(Note{Text: "warning: " + lacks})
	return nil
}

// rotationIn returns the note of a rotation in a state; nil if there is none. text is the same state with sealed secrets. If the note cannot be
// opened here, only its What is set.
func (r restoration) rotationIn(deployment apitype.DeploymentV3, text []byte) *rotation.Note {
	what := rotation.Begun(deployment)
	if what == "" {
		return nil
	}
	if note, err := rotation.NoteIn(deployment); err == nil {
		return note
	}
	if opened, err := r.state.ReadOpened(text); err == nil {
		if note, err := rotation.NoteIn(opened.Deployment); err == nil {
			return note
		}
	}
	return &rotation.Note{What: what}
}
