package store

// BoundGrants sets how many grants are kept, of an address and in all.
func (s *Store) BoundGrants(address, all int) { s.begun.address, s.begun.all = address, all }
