import { useIsFetching } from "@tanstack/react-query";
import { useEffect, useState } from "react";

/** How long nothing is read before a page counts as complete: answers lead to further questions. And how long it may take at most. */
const [pause, most] = [50, 3000];

/** Whether everything that a page reads at first was read once, so that what comes later moves nothing. It never becomes false again. */
export function useSettled(begun: boolean): boolean {
  const reading = useIsFetching() > 0;
  const [settled, setSettled] = useState(false);
  useEffect(() => {
    if (!begun || reading) return undefined;
    const timer = setTimeout(() => setSettled(true), pause);
    return () => clearTimeout(timer);
  }, [begun, reading]);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), most);
    return () => clearTimeout(timer);
  }, []);
  return settled;
}
