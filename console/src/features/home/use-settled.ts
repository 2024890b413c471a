import { useIsFetching, type Query } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

/** How long nothing is read before a page counts as complete: answers lead to further questions. And how long it may take at most. */
const [pause, most] = [50, 3000];

/** What was read before is on the page already, and is only brought up to date. */
const first = ({ state }: Query): boolean => state.data === undefined;

/**
 * Whether everything that a page reads at first was read once, so that what comes later moves nothing. It never becomes false again. A
 * page that comes back and knows all of its answers does not wait.
 */
export function useSettled(begun: boolean): boolean {
  const reading = useIsFetching({ predicate: first }) > 0;
  const asked = useRef(false);
  const [settled, setSettled] = useState(false);
  useEffect(() => {
    if (!begun) return undefined;
    if (reading) {
      asked.current = true;
      return undefined;
    }
    const timer = setTimeout(() => setSettled(true), asked.current ? pause : 0);
    return () => clearTimeout(timer);
  }, [begun, reading]);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), most);
    return () => clearTimeout(timer);
  }, []);
  return settled;
}
