package network

import (
	"encoding/json"
	"time"
)

// kept is the persistent state.
type kept struct {
	Networks map[string]*network `json:"networks"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{Networks: s.networks}, s.mu.Unlock
}

// Restore loads the persistent state.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := kept{Networks: map[string]*network{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.networks = restored.Networks

	return nil
}
