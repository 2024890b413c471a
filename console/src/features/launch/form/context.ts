import { createContext, use } from "react";
import type { Place } from "@/app/place";
import type { Errors } from "./draft";

/** What all parts of a form need. */
export interface FormContext {
  /** Where uploads go. */
  readonly place: Place;
  readonly errors: Errors;
}

export const FormContext = createContext<FormContext>({ place: { project: "", domain: "" }, errors: new Map() });

export const useForm = (): FormContext => use(FormContext);

/** What is wrong with the value of a path. */
export const useError = (path: string): string | undefined => useForm().errors.get(path);
