package recoverykit

import "errors"

// Reminder returns a sentence if a cluster has no kit, or if nothing shows that the newest one has its machine secrets, whose SHA-256 is
// given in hexadecimal. It is empty if all is well.
func (s Store) Reminder(secrets string) (string, error) {
	newest, err := s.Newest()
	switch {
	case errors.Is(err, ErrNone):
		return "there is no recovery kit for the day on which this computer is lost: `em-infra kit create` makes one", nil
	case err != nil:
		return "", err
	case newest.Secrets == "":
		return "the recovery kit " + newest.Name + " has no description beside it: `em-infra kit check` shows whether it fits", nil
	case newest.Secrets != secrets:
		return "the recovery kit " + newest.Name + " is older than the machine secrets: `em-infra kit create` makes a new one", nil
	default:
		return "", nil
	}
}
