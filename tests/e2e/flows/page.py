"""A Streamlit page."""

import streamlit

streamlit.title("A page of the tests")
