/** Keeps what a function makes of each argument. For few different arguments: nothing is ever dropped. */
export function kept<K, V extends object>(make: (of: K) => V): (of: K) => V {
  const made = new Map<K, V>();
  return (of) => {
    let value = made.get(of);
    if (value === undefined) made.set(of, (value = make(of)));
    return value;
  };
}
